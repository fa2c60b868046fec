//! Small differences that change a decision, its rule or its reason.

use crate::support::*;
use mainpath_policy::*;
use mainpath_types::{Access, ApprovalMode, Decision, Destination, EffectClass};

#[test]
fn settings_and_options_of_git_are_told_apart() {
    let policy = bare(&["allow bash(git *)", "deny bash(evil)", "deny bash(evil *)"]);
    for (line, expected) in [
        ("git -c protocol.ext.allow=always fetch", Decision::Ask),
        ("git -c protocol.allow=always fetch", Decision::Ask),
        ("git -c protocol.file.allow=always fetch", Decision::Allow),
        ("git -c \"user.name=$x\" commit", Decision::Allow),
        ("git -c \"user.$x=a\" commit", Decision::Ask),
        ("git -c core.pager=cat log", Decision::Allow),
        ("git -c core.pager=evil log", Decision::Deny),
        ("git -c \"core.pager=$x\" log", Decision::Ask),
        ("git -c alias.x='!evil' x", Decision::Deny),
        ("git -c \"alias.x=!$y\" x", Decision::Ask),
        ("git --config-env=a.b=C rebase --exec evil", Decision::Deny),
        ("git --super-prefix x rebase --exec evil", Decision::Deny),
        ("git daemon", Decision::Ask),
        ("git daemon --help", Decision::Allow),
        ("git fetch ext::sh", Decision::Ask),
        ("git log -- a/b::c", Decision::Allow),
        ("git show ::x", Decision::Allow),
        ("git log -- evil", Decision::Allow),
        ("git filter-branch --msg-filter evil", Decision::Deny),
        ("git log --msg-filter evil", Decision::Allow),
        ("git filter-branch x-filter evil", Decision::Allow),
        ("git init --template= a", Decision::Allow),
        ("git init --template=a", Decision::Ask),
        ("git config set core.editor evil", Decision::Deny),
        ("git config --global core.editor evil", Decision::Deny),
        ("git config get core.editor evil", Decision::Allow),
        ("git config --get core.editor evil", Decision::Allow),
        ("git config --unset core.editor evil", Decision::Allow),
        ("git config core.editor \"$x\"", Decision::Ask),
        ("git config \"$x\" evil", Decision::Ask),
        ("git config \"user.$x\" a", Decision::Ask),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn among_equal_rules_the_first_is_cited_and_the_organisations_before_it() {
    let facts = call("bash(git push)");
    let mut policy = bare(&["deny bash(git *)", "deny bash(git push)"]);
    assert_eq!(verdict(&policy, &facts), (Decision::Deny, "run.deny.1".into()));
    let file = "[[rule]]\nid = \"no-push\"\ndecision = \"deny\"\nmatch = \"bash(git push)\"\n";
    policy.add_file(Layer::Organisation, "org.toml", file).unwrap();
    assert_eq!(verdict(&policy, &facts), (Decision::Deny, "no-push".into()));
    let ask = |id: &str, more: &str| format!("[[rule]]\nid = \"{id}\"\ndecision = \"ask\"\n{more}\n");
    let mut of_text = with_file(Layer::User, &ask("mine", "match = \"write\"\nalways = true"));
    let file = ask("no-text", "match = \"write(a)\"\ndestination = \"text\"");
    of_text.add_file(Layer::Organisation, "org.toml", &file).unwrap();
    let to = Destination { argument: "to".into(), value: "x".into(), call: None, tool: None };
    let sent = CallFacts { destinations: vec![to], ..call("write(a)") };
    assert_eq!(verdict(&of_text, &sent), (Decision::Ask, "no-text".into()));
    // So it is of two parts of a line.
    policy.add_rule(Decision::Deny, "bash(touch *)").unwrap();
    assert_eq!(verdict(&policy, &call("bash(touch a; git push)")), (Decision::Deny, "no-push".into()));
    assert_eq!(verdict(&policy, &call("bash(git push; touch a)")), (Decision::Deny, "no-push".into()));
}

#[test]
fn yes_answers_an_ask_that_may_be_meant_and_no_denial_that_may_be() {
    let with = |rule: &str| {
        let policy = usual(&["allow bash(git *)", rule]);
        verdict_in(&policy, Access::Ask, ApprovalMode::Yes, &call("bash(git $x)"))
    };
    assert_eq!(with("ask bash(git push *)"), (Decision::Allow, "flag.yes".into()));
    assert_eq!(with("deny bash(git push *)"), (Decision::Ask, "run.deny.1".into()));
}

#[test]
fn a_request_that_changes_something_is_asked_for_that_and_not_for_its_address() {
    let policy = usual(&[]);
    assert_eq!(decided(&policy, "http_request(POST https://h.example/)"), (Decision::Ask, "builtin.ask".into()));
    assert_eq!(decided(&policy, "web_fetch(https://h.example/)"), (Decision::Ask, "builtin.address".into()));
    let facts = CallFacts { named: true, ..call("http_request(POST https://h.example/)") };
    let found = explain(&rules(policy, Access::Ask, ApprovalMode::Ask, &facts), &facts);
    let rules: Vec<&str> = found.parts.iter().map(|part| part.rule.as_str()).collect();
    assert_eq!(rules, ["builtin.ask", "builtin.ask"], "that a person named it allows no change there");
}

#[test]
fn in_full_mode_a_redirection_is_allowed_as_the_command_is() {
    let policy = bare(&[]);
    let facts = call("bash(cat < a)");
    assert_eq!(verdict_in(&policy, Access::Full, ApprovalMode::Ask, &facts), (Decision::Allow, "access.full".into()));
    let told = explain(&rules(policy, Access::Full, ApprovalMode::Ask, &facts), &facts);
    assert!(told.parts.iter().all(|part| part.rule == "access.full"), "{:?}", told.parts);
}

#[test]
fn what_is_asked_by_default_says_what_it_would_do() {
    for (effect, commands, expected) in [
        (EffectClass::LocalWrite, 0, "This changes files."),
        (EffectClass::ProcessControl, 0, "This starts or stops processes."),
        (EffectClass::ProcessControl, 1, "This runs a command."),
        (EffectClass::MessageSend, 0, "This sends a message."),
    ] {
        let facts = CallFacts {
            tool: "own".into(),
            effect,
            commands: vec!["touch a".to_string(); commands],
            ..CallFacts::default()
        };
        let told = judge(&rules(bare(&[]), Access::Ask, ApprovalMode::Ask, &facts), &facts);
        assert!(told.reason.contains(expected), "{}", told.reason);
    }
}

#[test]
fn a_call_in_a_line_has_a_name_of_one_word() {
    for wrong in ["(x)", "a b", "a b(x)", ""] {
        assert!(sample(wrong, &folders()).is_err(), "{wrong:?}");
    }
    assert!(sample("bash", &folders()).is_ok());
    for wrong in ["(x)", "a b(x)", "a/b(x)"] {
        assert!(Policy::new(folders()).add_rule(Decision::Deny, wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn printing_is_no_reason_to_ask_unless_it_sets_a_variable() {
    let policy = usual(&["allow bash(cargo test *)"]);
    for (line, expected) in [
        ("printf done; cargo test a", Decision::Allow),
        ("printf; cargo test a", Decision::Allow),
        ("printf -v x y; cargo test a", Decision::Ask),
        ("printf \"$x\"; cargo test a", Decision::Ask),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn an_allowed_address_is_that_address() {
    let allows = |rule: &str, url: &str| {
        let policy = bare(&[&format!("allow http_request({rule})")]);
        verdict(&policy, &call(&format!("http_request({url})"))).0 == Decision::Allow
    };
    for (rule, url, expected) in [
        ("GET http://[::1]/**", "GET http://[::1]/x", true),
        ("GET http://[::1]:80/**", "GET http://[::1]/x", true),
        ("GET http://h/**", "GET http://h:80/x", true),
        ("GET http://h/**", "GET http://h:8080/x", false),
        ("GET https://h/**", "GET https://h:443/x", true),
        ("GET https://h/v1/**", "GET https://h/v1/", true),
        ("GET https://h/v1/**", "GET https://h/v1", false),
        ("GET https://h/v1/**", "GET https://h/v2/", false),
        ("GET https://h/v1/x", "GET https://h/v1/x", true),
        ("GET https://h/v1/x", "GET https://h/v1/", false),
    ] {
        assert_eq!(allows(rule, url), expected, "{rule} {url}");
    }
}

#[test]
fn a_pattern_for_commands_has_a_command_on_each_side_of_its_pipe() {
    let add = |pattern: &str| Policy::new(folders()).add_rule(Decision::Deny, &format!("bash({pattern})"));
    for wrong in ["| b", "a |", "a | b | c", "|"] {
        assert!(add(wrong).is_err(), "{wrong:?}");
    }
    assert!(add("a | b").is_ok() && add("a").is_ok());
}

#[test]
fn words_that_may_vanish_are_reckoned_with() {
    let policy = bare(&["allow bash", "deny bash(evil)", "deny bash(a evil)"]);
    for (line, expected) in [
        ("$x evil", Decision::Ask),
        ("a $x evil", Decision::Ask),
        ("a \"$x\" evil", Decision::Allow),
        ("evil $[x]", Decision::Ask),
        ("evil \"$[x]\"", Decision::Allow),
        ("evil $x", Decision::Ask),
        ("evil $x a", Decision::Allow),
        ("evil \"$x\"", Decision::Allow),
        ("evil", Decision::Deny),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn files_among_words_begin_where_scripts_and_options_end() {
    let denied = ["read(.env)", "write(rm)", "write(-x)", "write(--)", "write(b/b)"];
    let denied = denied.map(|rule| format!("deny {rule}"));
    let policy = bare(&denied.iter().map(String::as_str).chain(["allow bash"]).collect::<Vec<_>>());
    for (line, expected) in [
        ("grep --regexp=KEY .env", Decision::Deny),
        ("grep -f words .env", Decision::Deny),
        ("grep --file=words .env", Decision::Deny),
        ("sed --expression=p .env", Decision::Deny),
        ("sed p .env", Decision::Deny),
        ("sed .env a", Decision::Allow),
        ("git rm a", Decision::Allow),
        ("git rm rm", Decision::Deny),
        ("ruff rm --fix a", Decision::Allow),
        ("ruff check --fix rm", Decision::Deny),
        ("sed --in-place p rm", Decision::Deny),
        ("sed --i p rm", Decision::Deny),
        ("cp a b", Decision::Allow),
        ("cp -t b b", Decision::Deny),
        ("rm -- -x", Decision::Deny),
        ("rm -x", Decision::Allow),
        ("rm -- a", Decision::Allow),
        ("rm a", Decision::Allow),
        ("popd; rm a", Decision::Ask),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn policies_are_the_same_if_their_rules_and_folders_are() {
    let policy = bare(&["deny bash(a)"]);
    assert_eq!(policy, bare(&["deny bash(a)"]));
    assert_ne!(policy, bare(&["deny bash(b)"]));
    let mut elsewhere = Policy::new(Folders { workspace: "/other".into(), ..folders() });
    elsewhere.add_rule(Decision::Deny, "bash(a)").unwrap();
    assert_ne!(policy, elsewhere);
}

#[test]
fn a_home_that_is_not_known_may_be_any_folder() {
    let homeless = Folders { workspace: "/work/space".into(), home: String::new(), ..Folders::default() };
    let mut policy = Policy::new(homeless);
    policy.add_rule(Decision::Deny, "read(~/keys)").unwrap();
    policy.add_rule(Decision::Allow, "bash").unwrap();
    assert_eq!(verdict(&policy, &call("bash(cat < /keys)")).0, Decision::Allow);
    assert_eq!(verdict(&policy, &call("bash(cat < ~/keys)")).0, Decision::Deny);
    policy.add_rule(Decision::Deny, "bash(~/run.sh *)").unwrap();
    assert_eq!(verdict(&policy, &call("bash(/run.sh)")).0, Decision::Allow);
    assert_eq!(verdict(&policy, &call("bash(~/./run.sh)")).0, Decision::Deny);
    // Nor need the workspace be known for a path from it.
    let mut policy = Policy::new(Folders::default());
    policy.add_rule(Decision::Deny, "bash(./run.sh *)").unwrap();
    policy.add_rule(Decision::Allow, "bash").unwrap();
    assert_eq!(verdict(&policy, &call("bash(lib/../run.sh)")).0, Decision::Deny);
    assert_eq!(verdict(&policy, &call("bash(/run.sh)")).0, Decision::Allow);
    let policy = bare(&["allow bash", "deny read(/root/**)"]);
    for (line, expected) in [
        ("cat < ~root/x", Decision::Ask),
        ("cat ~root/x", Decision::Ask),
        ("cat < ~/x", Decision::Allow),
        ("cat < a~root/x", Decision::Allow),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}
