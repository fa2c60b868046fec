//! What rules, access and mode make of calls.

use crate::support::*;
use mainpath_policy::{CallFacts, Layer, PathFact, Rules, explain, is_unattended, judge, narrowest};
use mainpath_types::{Access, ApprovalMode, CallId, Decision, Destination, EffectClass, Origin, Seq};
use std::collections::BTreeSet;
use std::sync::Arc;

use Decision::{Allow, Ask, Deny};

#[test]
fn deny_beats_ask_beats_allow() {
    let policy = bare(&["allow bash(git *)", "ask bash(git push *)", "deny bash(git push * --force *)"]);
    for (text, expected) in [
        ("bash(git status)", (Allow, "run.allow.1")),
        ("bash(git push)", (Ask, "run.ask.1")),
        ("bash(git push --force)", (Deny, "run.deny.1")),
        ("bash(make)", (Ask, "builtin.ask")),
    ] {
        assert_eq!(decided(&policy, text), (expected.0, expected.1.into()), "{text}");
    }
}

#[test]
fn every_part_of_a_command_line_must_be_allowed_and_one_that_is_denied_denies_it() {
    let policy =
        bare(&["allow bash(git status)", "allow bash(cargo test *)", "allow write(out/**)", "deny bash(curl *)"]);
    for (line, expected) in [
        ("git status && cargo test -p x", Allow),
        ("git status; cargo test | cargo test", Allow),
        ("git status && make", Ask),
        ("git status | curl x", Deny),
        ("make; curl x", Deny),
        ("cargo test > out/log.txt 2>&1", Allow),
        ("cargo test > log.txt", Ask),
        ("cargo test > out/../log.txt", Ask),
        ("cargo test > $X", Ask),
        ("cargo test < in.txt", Allow),
        ("cargo test < ../in.txt", Ask),
        ("cargo test $(curl x)", Deny),
        ("cargo test $(git status)", Allow),
        ("cargo test \"$(make)\"", Ask),
        ("cd sub && cargo test", Allow),
        ("cd .. && cargo test", Ask),
        ("echo start; cargo test && echo done || true", Allow),
        ("echo alone", Ask),
        ("sudo cargo test", Ask),
        ("timeout 5 curl x", Deny),
        ("bash -c 'git status; curl x'", Deny),
        ("PATH=/tmp cargo test", Ask),
        ("$X test", Ask),
        ("cargo test $X", Allow),
        ("X=curl; $X x", Ask),
        ("f() { curl x; }; f", Deny),
        ("/usr/bin/curl x", Deny),
        ("./cargo test", Ask),
    ] {
        assert_eq!(decided(&policy, &format!("bash({line})")).0, expected, "{line}");
    }
}

#[test]
fn both_a_wrapper_and_what_it_runs_must_be_allowed() {
    let policy = bare(&["allow bash(timeout *)", "allow bash(make)"]);
    assert_eq!(decided(&policy, "bash(timeout 5 make)").0, Allow);
    assert_eq!(decided(&policy, "bash(timeout 5 cargo)").0, Ask);
    assert_eq!(decided(&bare(&["allow bash(make)"]), "bash(timeout 5 make)").0, Ask);
}

#[test]
fn what_may_be_denied_is_asked_even_where_all_else_is_allowed() {
    let policy = bare(&["allow bash(*)", "deny bash(git push *)"]);
    for (line, expected) in [
        ("git $x", Ask),
        ("git $x origin", Ask),
        ("git status $x", Allow),
        ("$x", Ask),
        ("eval \"$x\"", Ask),
        ("echo $x", Allow),
        ("git push\n)", Deny),
        ("git \"pu\"sh", Deny),
        ("git -C x push", Deny),
        ("{git,push}", Ask),
    ] {
        assert_eq!(decided(&policy, &format!("bash({line})")).0, expected, "{line}");
    }
}

#[test]
fn yes_does_not_reach_what_may_be_denied() {
    let policy = bare(&["deny bash(git push *)"]);
    let of = |line: &str| verdict_in(&policy, Access::Ask, ApprovalMode::Yes, &call(&format!("bash({line})")));
    for line in ["x=push; git $x", "$x", "eval $x", "if", "bash -c \"$x\""] {
        assert_eq!(of(line), (Ask, "run.deny.1".into()), "{line}");
    }
    assert_eq!([of("make $x").0, of("git status $x").0], [Allow, Allow]);
}

#[test]
fn yes_does_not_reach_a_line_that_gives_names_another_meaning_where_something_is_denied() {
    let policy = bare(&["deny bash(rm *)"]);
    let of = |line: &str| verdict_in(&policy, Access::Ask, ApprovalMode::Yes, &call(&format!("bash({line})")));
    for line in [
        "shopt -s expand_aliases\nalias g=rm\ng x",
        "alias g=\"$x\"",
        "builtin alias g=rm; g x",
        "hash -p /bin/rm git; git x",
        "hash -rp /bin/rm git",
        "enable -f ./x.so rm",
        "enable $x rm",
        "BASH_ALIASES[g]=rm; g x",
        "BASH_CMDS[git]=/bin/rm; git x",
        "fakeroot -l x rm x",
        "bwrap --dev-bind / / rm x",
        "tmux new 'rm x'",
    ] {
        assert_eq!(of(line), (Ask, "run.deny.1".into()), "{line}");
    }
    for line in ["cgexec -g cpu:x --sticky rm x", "fakeroot rm x", "ccache rm x", "pkexec rm x", "cgexec -gcpu:x rm x"]
    {
        assert_eq!(of(line), (Deny, "run.deny.1".into()), "{line}");
    }
    for line in ["alias", "alias -p", "hash -r", "cgexec -g cpu:x ls", "set -e; ls"] {
        assert_eq!(of(line), (Allow, "flag.yes".into()), "{line}");
    }
}

#[test]
fn every_command_is_allowed_where_its_owner_says_every_command() {
    for rule in ["allow bash", "allow bash(*)"] {
        let policy = bare(&[rule]);
        for line in ["$x", "PATH=/x y", "a | b", "if", "eval $x"] {
            assert_eq!(decided(&policy, &format!("bash({line})")).0, Allow, "{rule}: {line}");
        }
    }
}

#[test]
fn files_follow_read_and_write_rules_whatever_the_tool() {
    let policy = bare(&[
        "allow write(src/**)",
        "deny write(src/gen/**)",
        "deny read(**/*.key)",
        "allow read(/etc/hosts)",
        "allow read(~/notes/**)",
        "ask edit(src/main.rs)",
        "allow bash(cat *)",
        "deny write(~/.bashrc)",
    ]);
    for (text, expected) in [
        ("write(src/a.rs)", Allow),
        ("write(src/deep/er/a.rs)", Allow),
        ("write(src/gen/a.rs)", Deny),
        ("write(src/gen)", Deny),
        ("write(src/../b.rs)", Ask),
        ("write(b.rs)", Ask),
        ("write(/work/space/src/a.rs)", Allow),
        ("edit(src/a.rs)", Allow),
        ("edit(src/main.rs)", Ask),
        ("write(src/main.rs)", Allow),
        ("read(b.rs)", Allow),
        ("read(a.key)", Deny),
        ("read(x/a.key)", Deny),
        ("grep(x/a.key)", Deny),
        ("read(/etc/x.key)", Deny),
        ("read(/etc/hosts)", Allow),
        ("read(/etc/passwd)", Deny),
        ("read(~/notes/a)", Allow),
        ("read(~/other/a)", Deny),
        ("bash(cat < a.key)", Deny),
        ("bash(cat >> ~/.bashrc)", Deny),
        ("bash(cat > src/x)", Allow),
        ("bash(cat > /work/space/src/x)", Allow),
        ("bash(cat > src/gen/x)", Deny),
        ("bash(cat > ./src//gen/x)", Deny),
        ("bash(cat > /work/space/src/gen/x)", Deny),
        ("bash(cat < ~/x.key)", Deny),
        ("bash(cat < /home/u/x.key)", Deny),
        ("bash(cd src; cat > gen/x)", Ask),
        ("bash(cat > ../space/src/gen/x)", Ask),
    ] {
        assert_eq!(decided(&policy, text).0, expected, "{text}");
    }
}

#[test]
fn an_edit_answers_with_text_of_the_file_so_rules_for_reading_hold_for_it() {
    let in_mode =
        |rule: &str, text: &str| verdict_in(&bare(&[rule]), Access::WorkspaceWrite, ApprovalMode::Ask, &call(text)).0;
    for path in ["secrets/k.txt", "./secrets/x/../k.txt", "/work/space/secrets/k.txt"] {
        assert_eq!(in_mode("deny read(secrets/**)", &format!("edit({path})")), Deny, "{path}");
        assert_eq!(in_mode("ask read(secrets/**)", &format!("edit({path})")), Ask, "{path}");
        assert_eq!(in_mode("deny read(secrets/**)", &format!("write({path})")), Allow, "{path}");
    }
    assert_eq!(in_mode("deny read(secrets/**)", "edit(src/k.txt)"), Allow);
    // Whoever may read a file may not change it for that.
    assert_eq!(verdict(&bare(&["allow read(src/**)"]), &call("edit(src/k.txt)")).0, Ask);
}

#[test]
fn a_denial_of_a_folder_by_its_name_holds_for_what_is_in_it() {
    let policy =
        bare(&["deny read(secrets)", "deny read(**/keys)", "deny write(gen/*)", "allow write(src)", "allow bash"]);
    for (text, expected) in [
        ("read(secrets)", Deny),
        ("read(secrets/k.txt)", Deny),
        ("read(secrets/deep/k.txt)", Deny),
        ("read(/work/space/secrets/k.txt)", Deny),
        ("read(a/keys/k.pem)", Deny),
        ("edit(secrets/k.txt)", Deny),
        ("bash(cat secrets/k.txt)", Deny),
        ("bash(grep -r x secrets)", Deny),
        ("bash(grep -r x)", Ask),
        ("read(secrets.txt)", Allow),
        ("read(a/secrets/k.txt)", Allow),
        // A sign in the last name stops at a slash, and an allow means what it says.
        ("write(gen/a)", Deny),
        ("write(gen/a/b)", Ask),
        ("write(src/a)", Ask),
    ] {
        assert_eq!(decided(&policy, text).0, expected, "{text}");
    }
}

#[test]
fn all_paths_of_a_call_must_be_allowed_and_one_that_is_denied_denies_it() {
    let policy = bare(&["allow write(src/**)", "deny write(*.lock)"]);
    let both = |a: &str, b: &str| {
        let mut facts = call(&format!("write({a})"));
        facts.paths.extend(call(&format!("write({b})")).paths);
        verdict(&policy, &facts).0
    };
    assert_eq!([both("src/a", "src/b"), both("src/a", "b"), both("src/a", "a.lock")], [Allow, Ask, Deny]);
}

#[test]
fn a_link_is_judged_by_the_place_that_it_leads_to_and_by_its_name() {
    let policy = bare(&["allow write(src/**)", "deny write(link)", "deny write(secret/**)"]);
    let fact = |path: &str, real: &str| PathFact {
        path: path.into(),
        absolute: format!("/work/space/{real}"),
        relative: Some(real.into()),
        write: true,
        protected: false,
        in_repository: false,
    };
    let judged =
        |path: &str, real: &str| verdict(&policy, &CallFacts { paths: vec![fact(path, real)], ..call("write(x)") }).0;
    assert_eq!([judged("src/a", "secret/a"), judged("link", "src/a"), judged("other", "src/a")], [Deny, Deny, Allow]);
}

#[test]
fn addresses_follow_method_host_and_path() {
    let policy = bare(&["allow http_request(GET https://api.example.com/**)", "deny http_request(https://*.evil.com)"]);
    for (text, expected) in [
        ("http_request(GET https://api.example.com/v1)", Allow),
        ("http_request(POST https://api.example.com/v1)", Ask),
        ("http_request(GET https://api.example.com@x.evil.com/v1)", Deny),
        ("http_request(GET https://other.example.com/)", Ask),
        ("web_fetch(https://x.evil.com/)", Ask),
    ] {
        assert_eq!(decided(&policy, text).0, expected, "{text}");
    }
}

#[test]
fn a_rule_about_files_allows_no_more_than_files() {
    let policy = bare(&["allow read(**)", "allow write(**)"]);
    let facts = CallFacts {
        tool: "upload".into(),
        effect: EffectClass::MessageSend,
        paths: call("read(a.txt)").paths,
        ..CallFacts::default()
    };
    assert_eq!(verdict(&policy, &facts), (Ask, "builtin.ask".into()));
    assert_eq!(verdict(&bare(&["allow upload(*.txt)"]), &facts).0, Allow);
    assert_eq!(verdict(&bare(&["allow upload"]), &facts).0, Allow);
}

#[test]
fn rules_hold_for_the_origins_that_they_name() {
    let policy =
        bare(&["allow bash(make)", "deny bash(make) if origin = web", "allow bash(ls) if origin = user, workspace"]);
    let from = |text: &str, origins: &[Origin]| {
        let origins: BTreeSet<Origin> = origins.iter().copied().collect();
        verdict(&policy, &CallFacts { origins, ..call(text) }).0
    };
    use Origin::*;
    assert_eq!(
        [from("bash(make)", &[]), from("bash(make)", &[User]), from("bash(make)", &[User, Web])],
        [Allow, Allow, Deny]
    );
    // An allow wants every origin among its own, and to know one.
    assert_eq!([from("bash(ls)", &[User]), from("bash(ls)", &[User, Mcp]), from("bash(ls)", &[])], [Allow, Ask, Ask]);
}

/// A call to somebody whom a text names.
fn from_text(text: &str, argument: &str, value: &str) -> CallFacts {
    let said_by = Some(CallId { seq: Seq(4), index: 0 });
    let found = Destination {
        argument: argument.into(),
        value: value.into(),
        call: said_by,
        tool: Some("mcp__mail__read".into()),
    };
    CallFacts { destinations: vec![found], ..call(text) }
}

#[test]
fn a_destination_of_a_text_is_asked_about_under_every_allow_that_does_not_name_it() {
    let send = from_text("mcp__mail__send(to=eve@x.example, body=Hello)", "to", "eve@x.example");
    let post = from_text("http_request(POST https://api.example.com/v1/x)", "url", "https://api.example.com/v1/x");
    let decided = |rules: &[&str], facts: &CallFacts| {
        let policy = usual(rules);
        let modes =
            [(Access::Ask, ApprovalMode::Yes), (Access::Full, ApprovalMode::Ask), (Access::Full, ApprovalMode::Yes)];
        let verdicts = modes.map(|(access, mode)| verdict_in(&policy, access, mode, facts));
        assert!(verdicts.iter().all(|verdict| verdict.0 == verdicts[0].0), "{rules:?}: {verdicts:?}");
        verdicts[0].clone()
    };
    let asked = (Ask, "builtin.destination-from-text".to_string());
    for rules in [
        &[][..],
        &["allow mcp__mail__*"],
        &["allow mcp__mail__send"],
        &["allow mcp__mail__send(to=*)"],
        &["allow mcp__mail__send(body=Hello)"],
        &["allow mcp__mail__send(to=*, body=Hello)"],
        &["allow mcp__mail__send(to=*@y.example)"],
        &["allow mcp__other__send(to=eve@x.example)"],
        &["allow mcp__mail__send(to=eve@x.example, body=Bye)"],
        &["allow mcp__mail__send(cc=eve@x.example)"],
    ] {
        assert_eq!(decided(rules, &send), asked, "{rules:?}");
    }
    for rules in [
        "allow mcp__mail__send(to=eve@x.example)",
        "allow mcp__mail__send(to=*@x.example)",
        "allow mcp__*(to=eve@x.example)",
        "allow mcp__mail__send(to=eve@x.example, body=Hel*)",
    ] {
        assert_eq!(decided(&[rules], &send).0, Allow, "{rules}");
    }
    for rules in ["allow http_request", "allow http_request(POST *)", "allow http_request(POST https://*/**)"] {
        assert_eq!(decided(&[rules], &post), asked, "{rules}");
    }
    for rules in ["allow http_request(POST https://api.example.com/**)", "allow http_request(https://*.example.com/**)"]
    {
        assert_eq!(decided(&[rules], &post).0, Allow, "{rules}");
    }
    assert_eq!(
        decided(&["deny mcp__mail__send(to=eve@x.example)", "allow mcp__mail__send(to=eve@x.example)"], &send).0,
        Deny
    );
    // Without anybody who could be asked it is denied, and can be approved later.
    let rules = rules(usual(&["allow mcp__mail__*"]), Access::Ask, ApprovalMode::Deny, &send);
    let denied = judge(&rules, &send);
    assert_eq!((denied.decision, is_unattended(&denied)), (Deny, true));
    assert_eq!(
        denied.reason,
        "\"eve@x.example\" (argument to) comes from text that mcp__mail__read returned (call 4.0), and no person named \
         it: check where this goes before you allow it. This run is non-interactive."
    );
}

#[test]
fn each_destination_has_to_be_named_and_rules_of_ones_own_may_deny_those_of_texts() {
    let mut facts = from_text("mcp__mail__send(to=eve@x.example, cc=bob@x.example)", "to", "eve@x.example");
    facts.destinations.push(Destination {
        argument: "cc".into(),
        value: "bob@x.example".into(),
        call: None,
        tool: None,
    });
    let yes = |rules: &[&str]| verdict_in(&usual(rules), Access::Ask, ApprovalMode::Yes, &facts);
    let (to, cc) = ("allow mcp__mail__send(to=eve@x.example)", "allow mcp__mail__send(cc=bob@x.example)");
    assert_eq!([yes(&[]).0, yes(&[to]).0, yes(&[cc]).0, yes(&[to, cc]).0], [Ask, Ask, Ask, Allow]);
    assert_eq!(yes(&["deny mcp__* if destination = text"]), (Deny, "run.deny.1".into()));
    assert_eq!(yes(&["deny mcp__* if destination = text", to, cc]).0, Allow);
    // The organisation's rule is loosened by its own alone.
    let organisation = |more: &str| {
        let text =
            format!("[[rule]]\nid = \"ours\"\ndecision = \"deny\"\ndestination = \"text\"\nmatch = \"*\"\n{more}");
        let mut policy = with_file(Layer::Organisation, &text);
        for rule in [to, cc] {
            policy.add_rule(Allow, rule.trim_start_matches("allow ")).unwrap();
        }
        verdict_in(&policy, Access::Ask, ApprovalMode::Yes, &facts)
    };
    assert_eq!(organisation(""), (Deny, "ours".into()));
    let named = "[[rule]]\ndecision = \"allow\"\nmatch = [\"mcp__mail__send(to=*@x.example)\", \"mcp__mail__send(cc=*@x.example)\"]\n";
    assert_eq!(organisation(named).0, Allow);
}

#[test]
fn the_rule_that_is_offered_for_a_destination_names_it_and_nothing_else() {
    let facts = from_text("mcp__mail__send(to=eve@x.example, body=Hello)", "to", "eve@x.example");
    assert_eq!(narrowest(&facts).unwrap().to_string(), "mcp__mail__send(to=eve@x.example)");
    let odd = from_text("mcp__mail__send(to=x)", "to", "a, b\nc");
    assert_eq!(narrowest(&odd), None);
    let starred = from_text("mcp__mail__send(to=x)", "to", "*@x.example");
    assert_eq!(narrowest(&starred).unwrap().to_string(), r"mcp__mail__send(to=\*@x.example)");
}

#[test]
fn what_a_run_may_do_unasked_follows_its_access() {
    use Access::{Full, ReadOnly, WorkspaceWrite};
    use EffectClass::*;
    let bare = bare(&[]);
    let of = |effect: EffectClass, confined: bool| {
        let facts = match effect {
            LocalWrite => call("write(a)"),
            ProcessControl => CallFacts { confined, ..call("bash(make)") },
            effect => CallFacts { tool: "t".into(), effect, ..CallFacts::default() },
        };
        [Access::Ask, ReadOnly, WorkspaceWrite, Full]
            .map(|access| verdict_in(&bare, access, ApprovalMode::Ask, &facts).0)
    };
    for effect in [EffectClass::ReadOnly, AskPerson, StartChild] {
        assert_eq!(of(effect, true), [Allow; 4], "{effect:?}");
    }
    assert_eq!(of(LocalWrite, true), [Ask, Deny, Allow, Allow]);
    assert_eq!(of(ProcessControl, true), [Ask, Allow, Allow, Allow]);
    assert_eq!(of(ProcessControl, false), [Ask, Ask, Ask, Allow]);
    for effect in [Idempotent, MessageSend, UiControl, SideEffecting] {
        assert_eq!(of(effect, true), [Ask, Ask, Ask, Allow], "{effect:?}");
    }
}

#[test]
fn the_workspace_bounds_what_no_rule_opens() {
    let bare = bare(&[]);
    for access in [Access::Ask, Access::ReadOnly, Access::WorkspaceWrite] {
        for text in ["read(/etc/passwd)", "write(../x)"] {
            let found = verdict_in(&bare, access, ApprovalMode::Yes, &call(text));
            assert_eq!(found, (Deny, "builtin.workspace".into()), "{text}");
        }
    }
    assert_eq!(
        verdict_in(&bare, Access::Full, ApprovalMode::Ask, &call("write(/etc/x)")),
        (Allow, "access.full".into())
    );
}

#[test]
fn what_cannot_be_parsed_is_asked_unless_everything_is_open() {
    let bare = bare(&[]);
    for line in ["$CC x.c", "if", "echo 'a"] {
        let facts = CallFacts { confined: true, ..call(&format!("bash({line})")) };
        let of = |access| verdict_in(&bare, access, ApprovalMode::Ask, &facts);
        assert_eq!(of(Access::WorkspaceWrite), (Ask, "builtin.unclear".into()), "{line}");
        assert_eq!(of(Access::Full).0, Allow, "{line}");
    }
}

#[test]
fn an_ask_follows_the_mode() {
    let policy = with_file(
        Layer::User,
        r#"
        rule = [{ decision = "ask", match = "bash(a)" }, { decision = "ask", match = "bash(b)", always = true }]
    "#,
    );
    let of = |text: &str, mode| verdict_in(&policy, Access::Full, mode, &call(text));
    use ApprovalMode::Yes;
    assert_eq!(of("bash(a)", ApprovalMode::Ask), (Ask, "user.1".into()));
    assert_eq!(of("bash(a)", ApprovalMode::Deny), (Deny, "user.1".into()));
    assert_eq!(of("bash(a)", Yes), (Allow, "flag.yes".into()));
    assert_eq!(of("bash(b)", Yes), (Ask, "user.2".into()));
    assert_eq!(of("bash(a; b)", Yes), (Ask, "user.2".into()));
    let organisation = with_file(Layer::Organisation, r#"rule = [{ decision = "ask", match = "bash(a)" }]"#);
    assert_eq!(verdict_in(&organisation, Access::Full, Yes, &call("bash(a)")), (Ask, "organisation.1".into()));
}

#[test]
fn the_organisation_is_not_loosened_below() {
    let mut policy =
        with_file(Layer::Organisation, r#"rule = [{ id = "no-push", decision = "deny", match = "bash(git push *)" }]"#);
    policy.add_rule(Allow, "bash").unwrap();
    assert_eq!(decided(&policy, "bash(git push)"), (Deny, "no-push".into()));
    let off = policy.add_file(Layer::User, "policy.toml", r#"off = ["no-push"]"#).unwrap_err();
    assert_eq!(
        off.to_string(),
        "policy.toml: off names the rule \"no-push\", and there is none that can be switched off; did you mean \"no-push\"?"
    );
    // It comes before the list of tools.
    let facts = call("bash(git push)");
    let rules = Rules { policy: Arc::new(policy), ..Rules::default() };
    assert_eq!(judge(&rules, &facts).rule, "no-push");
    assert_eq!(judge(&rules, &call("bash(ls)")).rule, "builtin.allowed-tools");
}

#[test]
fn a_project_that_is_not_trusted_only_tightens() {
    let file = r#"rule = [{ decision = "allow", match = "bash(make)" }, { decision = "deny", match = "bash(rm *)" }]"#;
    let mut policy = bare(&[]);
    policy.add_untrusted("policy.toml", file).unwrap();
    assert_eq!(decided(&policy, "bash(make)"), (Ask, "builtin.ask".into()));
    assert_eq!(decided(&policy, "bash(rm x)"), (Deny, "project.2".into()));
    let trusted = with_file(Layer::Project, file);
    assert_eq!(decided(&trusted, "bash(make)"), (Allow, "project.1".into()));
    assert_ne!(policy.hash(), trusted.hash());
}

#[test]
fn what_approvals_made_of_a_trace_allows_calls_of_that_kind() {
    let policy =
        bare(&["deny bash(rm *)"]).with_approved(["bash(make *)\nwrite(out.txt)", "bash(rm *)", "not ( a rule"]);
    assert_eq!(decided(&policy, "bash(make x > out.txt)"), (Allow, "trace.1".into()));
    assert_eq!(decided(&policy, "bash(rm x)").0, Deny);
}

#[test]
fn an_explanation_names_every_part_and_every_rule_that_applied() {
    let mut policy = bare(&["allow bash(git *)", "ask bash(git push *)"]);
    policy.add_file(Layer::Organisation, "org.toml", "[[rule]]\nid = \"org-push\"\ndecision = \"deny\"\nmatch = \"bash(git push *)\"\nreason = \"By people only.\"\n").unwrap();
    let facts = call("bash(git status; git push)");
    let rules = rules(policy, Access::Ask, ApprovalMode::Ask, &facts);
    let found = explain(&rules, &facts);
    let parts: Vec<(&str, Decision, &str)> =
        found.parts.iter().map(|part| (part.part.as_str(), part.decision, part.rule.as_str())).collect();
    assert_eq!(
        parts,
        [("the command \"git status\"", Allow, "run.allow.1"), ("the command \"git push\"", Deny, "org-push"),]
    );
    let applied: Vec<(Layer, &str, &str)> =
        found.rules.iter().map(|rule| (rule.layer, rule.rule.as_str(), rule.part.as_str())).collect();
    let (status, push) = ("the command \"git status\"", "the command \"git push\"");
    assert_eq!(
        applied,
        [
            (Layer::Run, "run.allow.1", status),
            (Layer::Run, "run.allow.1", push),
            (Layer::Run, "run.ask.1", push),
            (Layer::Organisation, "org-push", push),
        ]
    );
    assert_eq!(found.verdict.reason, "The command \"git push\" is denied by the rule org-push: By people only.");
}
