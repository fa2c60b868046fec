//! What the crate says beside verdicts: of checks, of explanations, of names, of rules that it proposes.

use crate::support::*;
use mainpath_policy::*;
use mainpath_types::{Access, ApprovalMode, CallId, Decision, EffectClass, Seq, Verdict};

#[test]
fn checks_are_empty_until_there_is_one_and_count_each_run_by_itself() {
    let parsed = |text: &str| Checks::parse(text, &folders()).unwrap();
    assert!(Checks::default().is_empty() && parsed("").is_empty());
    for text in ["[budget]\nturns = 1\n", "[[most]]\ncall = \"bash\"\ncalls = 1\n"] {
        assert!(!parsed(text).is_empty(), "{text}");
    }
    let made = |seq, run| PastCall {
        call: CallId { seq: Seq(seq), index: 0 },
        run,
        facts: call("bash(ls)"),
        after: Vec::new(),
    };
    let run = |run, calls| PastRun { run, turns: 1, calls, tokens: 1, cost: 0 };
    let breaches = parsed("[[most]]\ncall = \"bash\"\ncalls = 1\n").breaches(
        &[made(2, 1), made(4, 2), made(6, 2)],
        &[run(1, 1), run(2, 2)],
        &folders(),
    );
    let of: Vec<_> = breaches.iter().map(|breach| (breach.run, breach.call.unwrap().seq)).collect();
    assert_eq!(of, [(2, Seq(6))]);
}

#[test]
fn who_would_have_been_asked_and_who_is_asked_by_no_rule_is_told_from_verdicts() {
    let verdict = |decision, rule: &str, reason: &str| Verdict { decision, rule: rule.into(), reason: reason.into() };
    let facts = call("bash(cargo test)");
    let judged = |policy: Policy, mode| judge(&rules(policy, Access::Ask, mode, &facts), &facts);
    let asks = || usual(&["ask bash(cargo *)"]);
    for (told, unattended, by_default) in [
        (judged(usual(&[]), ApprovalMode::Ask), false, true),
        (judged(usual(&[]), ApprovalMode::Deny), true, false),
        (judged(usual(&[]), ApprovalMode::Yes), false, false),
        (judged(asks(), ApprovalMode::Ask), false, false),
        (judged(asks(), ApprovalMode::Deny), true, false),
        (judged(usual(&["deny bash(cargo *)"]), ApprovalMode::Deny), false, false),
        (verdict(Decision::Deny, "builtin.ask", "No."), false, false),
        (verdict(Decision::Ask, "builtin.headless", "Well?"), false, false),
    ] {
        assert_eq!((is_unattended(&told), is_asked_by_default(&told)), (unattended, by_default), "{told:?}");
    }
}

#[test]
fn an_explanation_says_of_which_rules_it_is_certain() {
    let facts = call("bash(git push; git $x)");
    let policy = bare(&["deny bash(git push)"]);
    let told = explain(&rules(policy, Access::Ask, ApprovalMode::Ask, &facts), &facts);
    let certain: Vec<(&str, bool)> = told.rules.iter().take(2).map(|rule| (&*rule.part, rule.certain)).collect();
    assert_eq!(certain, [("the command \"git push\"", true), ("the command \"git $x\"", false)]);
    let facts = call("bash(touch y)");
    let by_default = explain(&rules(usual(&[]), Access::Ask, ApprovalMode::Ask, &facts), &facts);
    let parts: Vec<(&str, &str)> = by_default.parts.iter().map(|part| (&*part.part, &*part.rule)).collect();
    assert_eq!(parts, [("a call of bash", "builtin.ask"), ("the command \"touch y\"", "builtin.ask")]);
    // The line as a whole, which cannot be told, is the third.
    assert!(told.rules.len() == 3 && !told.rules[2].certain, "{:?}", told.rules);
}

#[test]
fn a_rule_that_is_proposed_has_each_pattern_once() {
    let proposed = |text: &str| narrowest(&call(text)).unwrap().to_string();
    assert_eq!(proposed("bash(npm ci; npm ci)"), proposed("bash(npm ci)"));
    assert_eq!(proposed("bash(npm ci; make all)").lines().count(), 2);
}

#[test]
fn where_there_is_no_home_nothing_stands_for_it() {
    let homeless = Folders { workspace: "/work/space".into(), home: String::new(), ..Folders::default() };
    let mut policy = Policy::new(homeless);
    policy.add_rule(Decision::Deny, "read(/keys)").unwrap();
    assert_eq!(verdict(&policy, &call("bash(cat < ~/keys)")).0, Decision::Ask);
    assert_eq!(verdict(&policy, &call("bash(cat < /keys)")).0, Decision::Deny);
}

#[test]
fn what_only_sets_up_the_shell_is_no_reason_to_ask() {
    let policy = usual(&["allow bash(cargo test *)"]);
    for (line, decision) in [
        ("bash(set -euo pipefail; cargo test --all)", Decision::Allow),
        ("bash(set -e; cargo test --all)", Decision::Allow),
        ("bash(set -- evil; cargo test --all)", Decision::Ask),
    ] {
        assert_eq!(verdict(&policy, &call(line)).0, decision, "{line}");
    }
}

#[test]
fn a_slip_of_the_pen_is_told_where_it_is_likely_to_be_one() {
    let of_tool = |text: &str| text.parse::<ToolNames>().unwrap().check([]).unwrap_err().to_string();
    for (text, meant) in [("grpe", Some("grep")), ("glxx", None), ("agxxt", Some("agent")), ("agxxx", None)] {
        let hint = of_tool(text);
        assert_eq!(hint.contains("did you mean"), meant.is_some(), "{hint}");
        assert!(meant.is_none_or(|meant| hint.contains(&format!("{meant:?}"))), "{hint}");
    }
    let of_key = |key: &str| {
        let text = format!("[[rule]]\ndecision = \"deny\"\nmatch = [\"bash\"]\n{key} = 1\n");
        usual(&[]).add_file(Layer::User, "policy.toml", &text).unwrap_err().to_string()
    };
    for (key, meant) in [("reaxxn", Some("reason")), ("mxxch", Some("match")), ("ix", Some("id")), ("mxxx", None)] {
        let hint = of_key(key);
        assert_eq!(hint.contains("did you mean"), meant.is_some(), "{hint}");
        assert!(meant.is_none_or(|meant| hint.contains(meant)), "{hint}");
    }
}

#[test]
fn a_call_that_is_written_in_a_line_has_the_effect_of_its_tool() {
    for (text, effect) in [
        ("agent(look)", EffectClass::StartChild),
        ("ask_human(when?)", EffectClass::AskPerson),
        ("feishu_bot(hello)", EffectClass::MessageSend),
        ("bash(ls)", EffectClass::ProcessControl),
        ("grep(x)", EffectClass::ReadOnly),
        ("write(a)", EffectClass::LocalWrite),
        ("mcp__a__b(x=1)", EffectClass::SideEffecting),
    ] {
        assert_eq!(call(text).effect, effect, "{text}");
    }
}

#[test]
fn an_allow_list_allows_what_fits_its_method_host_and_path() {
    let list = AddressRule::parse("GET,POST https://api.example.com/v1/**").unwrap();
    let asks = |method: &str, url: &str| UrlFact { method: method.into(), url: url.into() };
    for (method, url, allowed) in [
        ("GET", "https://api.example.com/v1/a/b", true),
        ("POST", "https://API.example.com:443/v1/a", true),
        ("DELETE", "https://api.example.com/v1/a", false),
        ("GET", "http://api.example.com/v1/a", false),
        ("GET", "https://api.example.com/v2/a", false),
        ("GET", "https://api.example.com.evil.io/v1/a", false),
        ("GET", "https://api.example.com@evil.io/v1/a", false),
        ("GET", "https://api.example.com/v1/../v2/a", false),
    ] {
        assert_eq!(list.allows(&asks(method, url)), allowed, "{method} {url}");
    }
    assert!(list.names_server() && !AddressRule::parse("GET https://*/**").unwrap().names_server());
}

#[test]
fn what_git_runs_by_settings_and_options_is_seen_or_unclear() {
    let policy = bare(&["allow bash(git *)", "deny bash(evil *)"]);
    for (line, expected) in [
        ("git --no-pager bisect run evil", Decision::Deny),
        ("git -P -C x bisect run evil", Decision::Deny),
        ("git bisect start evil good", Decision::Allow),
        ("git bisect log evil", Decision::Allow),
        ("git -$x status", Decision::Ask),
        ("git $@ status", Decision::Ask),
        ("git \"$x\" status", Decision::Ask),
        ("git -c core.hooksPath=true commit", Decision::Ask),
        ("git -c core.fsmonitor=true status", Decision::Allow),
        ("git -c \"alias.x=!$y\" x", Decision::Ask),
        ("git -c \"alias.x=!true $y\" x", Decision::Ask),
        ("git --exec-path=x status", Decision::Ask),
        ("git --super-prefix x status", Decision::Ask),
        ("git --config-env=alias.x=Y x", Decision::Ask),
        ("git clone 'ext::evil x'", Decision::Ask),
        ("git clone '::x'", Decision::Allow),
        ("git clone -c user.name=me . copy", Decision::Allow),
        ("git clone -cuser.name=me . copy", Decision::Allow),
        ("git clone https://example.com/a copy", Decision::Allow),
        ("git send-email --to=a@b.c --cc x@y.z 1.patch", Decision::Allow),
        ("git send-email --to-c evil 1.patch", Decision::Deny),
        ("git log --ext-d", Decision::Ask),
        ("git init --template= x", Decision::Allow),
        ("git init --templ=x y", Decision::Ask),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn a_long_line_of_many_commands_that_hold_others_is_read_to_its_end() {
    let policy = bare(&["allow bash(cargo test *)", "allow bash(env *)", "allow bash(bash *)", "deny bash(evil *)"]);
    let many = |one: &str| vec![one; 40].join("; ");
    for one in ["env cargo test x", "bash -c 'cargo test x'"] {
        let line = many(one);
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, Decision::Allow, "{one}");
        assert_eq!(verdict(&policy, &call(&format!("bash({line}; evil x)"))).0, Decision::Deny, "{one}");
    }
}

#[test]
fn a_cargo_that_runs_another_program_is_unclear() {
    let policy = bare(&["allow bash(cargo *)", "deny bash(evil *)"]);
    for (line, expected) in [
        ("cargo run --config 'target.x.runner=\"evil\"'", Decision::Ask),
        ("cargo build --config build.rustc-wrapper='\"evil\"'", Decision::Ask),
        ("cargo test --all", Decision::Allow),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn no_rule_is_proposed_for_an_address_with_a_name_in_it_or_a_method_of_its_own() {
    let proposed = |method: &str, url: &str| {
        let urls = vec![UrlFact { method: method.into(), url: url.into() }];
        narrowest(&CallFacts { tool: "web_fetch".into(), urls, ..CallFacts::default() }).map(|rule| rule.to_string())
    };
    assert_eq!(proposed("GET", "https://a.io:443/x").as_deref(), Some("web_fetch(GET https://a.io/x)"));
    assert_eq!(proposed("GET", "https://a.io:8443/x").as_deref(), Some("web_fetch(GET https://a.io:8443/x)"));
    assert_eq!(proposed("GET", "https://me@a.io/x"), None);
    assert_eq!(proposed("BREW", "https://a.io/x"), None);
    assert_eq!(proposed("GET", "ftp://a.io/x"), None);
}

#[test]
fn where_there_is_no_workspace_a_path_from_the_root_stays_one() {
    let mut policy = Policy::new(Folders { workspace: String::new(), home: "/home/u".into(), ..Folders::default() });
    policy.add_rule(Decision::Deny, "read(/keys/**)").unwrap();
    assert_eq!(verdict(&policy, &call("bash(cat < /keys/a)")).0, Decision::Deny);
    assert_eq!(verdict(&policy, &call("bash(cat < /work/space/keys/a)")).0, Decision::Ask);
}

#[test]
fn what_a_launcher_of_packages_or_containers_runs_is_judged() {
    for (line, expected) in [
        ("npx evil a", Decision::Deny),
        ("npm exec evil", Decision::Deny),
        ("npm --silent x evil", Decision::Deny),
        ("npm exec --package=a -- evil", Decision::Deny),
        ("npm exec --package=a -- a", Decision::Ask),
        ("npm \"$x\" evil", Decision::Ask),
        ("npm exec --package a evil", Decision::Ask),
        ("pnpm dlx evil", Decision::Deny),
        ("uv run evil", Decision::Deny),
        ("uv tool run evil", Decision::Deny),
        ("poetry run sh -c evil", Decision::Deny),
        ("bundle exec evil", Decision::Deny),
        ("docker exec box evil", Decision::Deny),
        ("docker run -v a:b image evil", Decision::Ask),
        ("kubectl exec pod -- evil", Decision::Deny),
        ("rustup run stable evil", Decision::Deny),
        ("ip netns exec blue evil", Decision::Deny),
        ("ip net exec blue evil", Decision::Deny),
        ("npm exe evil", Decision::Deny),
        // What stands before `--` may be the command, or a value.
        ("npx evil -- a", Decision::Deny),
        ("npx -y evil -- a", Decision::Deny),
        ("npx -p evil -- a", Decision::Ask),
        ("npx --call=evil -- a", Decision::Ask),
        ("uv run evil -- a", Decision::Deny),
        ("uv run --with evil -- evil", Decision::Deny),
        ("docker run --rm -it image evil -- a", Decision::Deny),
        ("docker run -- image evil", Decision::Deny),
        ("docker run image -- evil", Decision::Deny),
        ("docker run evil -- a", Decision::Allow),
        ("kubectl exec evil -it -n evil -- a", Decision::Allow),
        ("nix shell a -c evil", Decision::Ask),
        ("nix-shell --run evil", Decision::Ask),
        ("npm install evil", Decision::Allow),
        ("npm run evil", Decision::Allow),
        ("uv sync", Decision::Allow),
        ("docker ps", Decision::Allow),
        ("kubectl get pods", Decision::Allow),
        ("ip addr", Decision::Allow),
    ] {
        let program = line.split(' ').next().unwrap_or_default();
        let rules = [&format!("allow bash({program} *)"), "allow bash(a)", "deny bash(evil *)", "deny bash(evil)"];
        let policy = bare(&rules.map(|rule| rule as &str));
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}

#[test]
fn a_denied_file_is_denied_to_the_programs_that_name_it_and_asked_where_it_may_be_meant() {
    let rules =
        ["allow bash", "deny write(keep/a.txt)", "deny read(.env)", "deny write(/etc/**)", "deny write(**/k.pem)"];
    let policy = bare(&rules);
    for (line, expected) in [
        ("rm keep/a.txt", Decision::Deny),
        ("rm ./keep/../keep/a.txt", Decision::Deny),
        ("sudo rm -f -- keep/a.txt", Decision::Deny),
        ("rm -rf keep", Decision::Ask),
        ("rm -rf .", Decision::Ask),
        ("mv keep gone", Decision::Ask),
        ("rm keep", Decision::Allow),
        ("rm keep/b.txt", Decision::Allow),
        ("rm keeper -r", Decision::Allow),
        ("rm \"$x\"", Decision::Ask),
        ("rm keep/*.txt", Decision::Ask),
        ("cd keep && rm a.txt", Decision::Ask),
        ("cp b keep/a.txt", Decision::Deny),
        ("cp x/a.txt keep", Decision::Deny),
        ("cp -t keep a.txt", Decision::Deny),
        ("cp --target-directory=keep x/a.txt", Decision::Deny),
        ("cp b.txt keep", Decision::Allow),
        ("cp keep/a.txt b", Decision::Allow),
        ("cp -r x keep", Decision::Ask),
        ("mv keep/a.txt b", Decision::Deny),
        ("mv b keep/a.txt", Decision::Deny),
        ("ln -sf b keep/a.txt", Decision::Deny),
        ("install -m 600 b keep/a.txt", Decision::Deny),
        ("echo a | tee -a keep/a.txt", Decision::Deny),
        ("dd if=b of=keep/a.txt", Decision::Deny),
        ("sed -i s/a/b/ keep/a.txt", Decision::Deny),
        ("sed -ne p -i keep/a.txt", Decision::Deny),
        ("sed s/a/b/ keep/a.txt", Decision::Allow),
        ("truncate -s 0 keep/a.txt", Decision::Deny),
        ("chmod 777 keep/a.txt", Decision::Deny),
        ("chmod keep/a.txt b", Decision::Allow),
        ("sort -o keep/a.txt b", Decision::Deny),
        ("curl -okeep/a.txt https://example.com", Decision::Deny),
        ("wget --output-document=keep/a.txt https://example.com", Decision::Deny),
        ("wget --output-doc keep/a.txt https://example.com", Decision::Deny),
        ("wget -qO keep/a.txt https://example.com", Decision::Deny),
        ("curl -sSLo keep/a.txt https://example.com", Decision::Deny),
        ("curl -sSLokeep/a.txt https://example.com", Decision::Deny),
        ("curl --output b https://example.com", Decision::Allow),
        ("sort -uo keep/a.txt b", Decision::Deny),
        ("cp -ft keep a.txt", Decision::Deny),
        ("cp --target-dir keep x/a.txt", Decision::Deny),
        ("rsync -at b keep/a.txt", Decision::Deny),
        ("install -gstaff b keep/a.txt", Decision::Deny),
        ("rm --recurs keep", Decision::Ask),
        ("git rm keep/a.txt", Decision::Deny),
        ("git -C . checkout main -- keep/a.txt", Decision::Deny),
        ("git mv keep gone", Decision::Ask),
        ("find . -exec rm {} +", Decision::Ask),
        ("touch /etc/x", Decision::Deny),
        ("rm deep/er/k.pem", Decision::Deny),
        ("cat .env", Decision::Deny),
        ("grep KEY .env", Decision::Deny),
        ("grep .env a.txt", Decision::Allow),
        ("grep -e KEY .env", Decision::Deny),
        ("grep -r KEY .", Decision::Ask),
        ("cp .env b", Decision::Deny),
        ("dd if=.env of=b", Decision::Deny),
        ("echo .env keep/a.txt", Decision::Allow),
        ("rm", Decision::Allow),
        ("cp", Decision::Allow),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
    // What comes with Mainpath, and what is allowed, is about what tools and shells open.
    let policy = usual(&["allow bash(rm *)", "allow write(a)"]);
    assert_eq!(verdict(&policy, &call("bash(rm .envrc)")).0, Decision::Allow);
    assert_eq!(verdict(&usual(&["allow write(**)"]), &call("bash(rm a)")).0, Decision::Ask);
}

#[test]
fn only_a_rule_for_files_of_the_workspace_is_widened_to_all_of_them() {
    for (rule, expected) in [
        ("write(a)", true),
        ("write(a)\nwrite(b/c)", true),
        ("write(a)\nbash(ls)", false),
        ("write(/etc/x)", false),
        ("write(~/x)", false),
        ("write(\\~/x)", false),
        ("write(:guarded)", false),
        ("read(a)", false),
    ] {
        assert_eq!(is_for_files_here(rule), expected, "{rule}");
    }
}
