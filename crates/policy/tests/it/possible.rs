//! Rules that no call can fit are refused, and their authors are told what to write.

use crate::support::*;
use mainpath_policy::{CallFacts, Layer, Policy, narrowest};
use mainpath_types::{Decision, EffectClass};
use serde_json::{Value, json};

fn refused(rule: &str) -> Option<String> {
    Policy::new(folders()).add_rule(Decision::Deny, rule).err().map(|error| error.problem.to_string())
}

#[test]
fn a_rule_that_no_call_can_fit_is_refused_with_what_to_write() {
    for (rule, hint) in [
        ("write(path=src/**)", "the path is written alone: write(src/**)"),
        ("write(contents=*x*)", "write has no \"contents\" to compare; the text that is written is write(content=…)"),
        ("edit(new_text=*x*)", "edit has no \"new_text\" to compare; the text that is written is edit(content=…)"),
        (
            "read(content=*x*)",
            "what a file contains is not known before it is read; write read(PATH), such as read(src/**)",
        ),
        ("read_text_file(offset=3)", "what a file contains is not known before it is read"),
        ("write(src/)", "no path ends in a slash; write write(src/**) for all that is in the folder"),
        ("grep(src/)", "no path ends in a slash; write grep(src/**)"),
        ("read(.)", "write read(**) for everything in the workspace"),
        ("read(src//a)", "has an empty step"),
        ("read(./src/./a)", "has an empty step or a . step"),
        ("read(~)", "write ~/ for your home"),
        ("read(~other/x)", "cannot be resolved"),
        (
            "read(https://example.com/x)",
            "write web_fetch(https://example.com/x) or http_request(https://example.com/x)",
        ),
        ("bash(command=git push *)", "a command is written alone: bash(git push *)"),
        ("bash(command=ls)", "a command is written alone: bash(ls)"),
        ("bash(GIT_PAGER=x git log *)", "write bash(git log *)"),
        ("bash(_x1=1 git log *)", "write bash(git log *)"),
        ("bash('a b' && c)", "no command contains \"&&\""),
        ("bash(cd x && make *)", "no command contains \"&&\"; write one rule for each command"),
        ("bash(rm x; ls)", "no command contains \"x;\""),
        ("bash(a || b)", "no command contains \"||\""),
        ("bash(server &)", "no command contains \"&\""),
        ("bash(echo * > *)", "a redirection such as \">\" is not part of a command; write write(FILE)"),
        ("bash(make 2>&1)", "a redirection such as \"2>&1\""),
        ("bash(sort < x)", "write read(FILE)"),
        ("bash(echo $(date))", "a command inside another"),
        ("bash(echo `date`)", "a command inside another"),
        ("bash(git:*)", "write bash(git *)"),
        ("execute_bash(./deploy.sh:*)", "write execute_bash(./deploy.sh *)"),
        ("bash(git push:*, rm:*)", "one command; write bash(git push *) and bash(rm *), one rule for each"),
        (
            "execute_bash(git:*, rm -rf *,ls)",
            "execute_bash(git *) and execute_bash(rm -rf *) and execute_bash(ls), one",
        ),
        ("bash(if *)", "\"if\" is a word of the shell"),
        ("execute_bash(for x in *)", "\"for\" is a word of the shell"),
        ("sandbox(a && b)", "no command contains"),
        ("mcp__mail__send(anna)", "compared by its arguments; write mcp__mail__send(NAME=VALUE)"),
        ("web_search(secret words)", "compared by its arguments"),
        ("http_request(GET https://h.example/x?a=b)", "an address is compared without its query"),
    ] {
        let told = refused(rule).unwrap_or_default();
        assert!(told.contains("can never match: ") && told.contains(hint), "{rule}: {told}");
    }
}

#[test]
fn a_rule_in_the_spelling_of_another_program_is_refused_everywhere_with_what_to_write() {
    for (rule, own) in [
        ("Bash", "bash"),
        ("Bash(*)", "bash"),
        ("Bash(git *)", "bash(git *)"),
        ("Bash(npm run test:*)", "bash(npm run test *)"),
        ("Bash(git push:*, rm:*)", "bash(git push *) and bash(rm *), one rule for each"),
        ("Shell(git)", "bash(git *)"),
        ("Read", "read(**)"),
        ("Read(./.env)", "read(./.env)"),
        ("Read(//etc/passwd)", "read(/etc/passwd)"),
        ("Read(/src/**)", "read(src/**)"),
        ("Read(~/.ssh/**)", "read(~/.ssh/**)"),
        ("Edit(docs/**)", "write(docs/**)"),
        ("Write", "write(**)"),
        ("MultiEdit(*)", "write(**)"),
        ("Grep", "grep"),
        ("WebFetch", "web_fetch"),
        ("WebFetch(domain:*)", "web_fetch"),
        ("WebFetch(domain:example.com)", "web_fetch(*://example.com)"),
        ("WebFetch(domain:*.example.com)", "web_fetch(*://*.example.com)"),
        ("WebSearch", "web_search"),
        ("Task(Explore)", "agent(agent_type=Explore)"),
        ("Mcp(github:create_issue)", "mcp__github__create_issue"),
    ] {
        let told = format!("the rule {rule:?} is in the spelling of another program; write {own}");
        assert_eq!(refused(rule), Some(told.clone()), "{rule}");
        let file = format!("[[rule]]\ndecision = \"deny\"\nmatch = {rule:?}\n");
        let of_file = Policy::new(folders()).add_file(Layer::User, "policy.toml", &file).unwrap_err();
        assert_eq!(of_file.to_string(), format!("policy.toml, line 3: {told}"));
        for own in own.trim_end_matches(", one rule for each").split(" and ") {
            assert_eq!(refused(own), None, "{own}");
        }
        let recorded = Policy::new(folders()).reading_recorded().add_rule(Decision::Deny, rule);
        let misspelt = recorded.err().map(|error| error.to_string()).is_none_or(|told| told.contains("did you mean"));
        assert!(misspelt, "{rule}");
    }
    for same in ["mcp__github__create_issue", "mcp__github__*", "mcp__github__create_issue(title=x)"] {
        assert_eq!(refused(same), None, "{same}");
    }
    let fetch = |url: &str| {
        let rules = bare(&["deny web_fetch(*://example.com)", "allow web_fetch"]);
        verdict(&rules, &call(&format!("web_fetch({url})"))).0
    };
    let of = ["https://example.com/a", "http://example.com:8080", "https://other.example"].map(fetch);
    assert_eq!(of, [Decision::Deny, Decision::Deny, Decision::Allow]);
}

#[test]
fn rules_that_a_call_can_fit_are_read() {
    for rule in [
        "write(year=2024/**)",
        "write(./content=x)",
        "write(content=*TOKEN*)",
        "edit(content=*)",
        "read(a b.txt)",
        "bash(docker pull own:*)",
        "read(~/x)",
        "read(/)",
        "read(./src/**)",
        "read(\\~x)",
        "write(:guarded)",
        "grep(pattern=*secret*)",
        "grep(src/**)",
        "grep(pattern=src/)",
        "bash(a '&&' b)",
        "bash(a 'x;' b)",
        "bash(./a=b *)",
        "bash(a.b=c *)",
        "bash(a \\> b)",
        "bash(test 1 '>' 0)",
        "bash(grep '`' *)",
        "bash(grep <tag> *)",
        "bash(find * -exec * ;)",
        "bash(find * -exec * \\;)",
        "bash(curl https://h/x?a=1&b=2)",
        "bash(curl * | sh *)",
        "bash(time make *)",
        "bash('if' *)",
        "bash(echo $(*) *)",
        "bash(dd if=* of=/dev/*)",
        "bash(diff <(*) *)",
        "bash(rm * $HOME)",
        "bash({a,b} *)",
        "mcp__mail__send(to=*@x)",
        "mcp__mail__send(*)",
        "mcp__web__get(GET https://h/**)",
        "mcp__web__get(GET *)",
        "mcp__web__get(GET,POST *)",
        "own_tool(some words)",
        "http_request(GET https://h.example/?)",
    ] {
        assert_eq!(refused(rule), None, "{rule}");
    }
}

#[test]
fn a_rule_of_a_file_that_no_call_can_fit_is_named_with_its_line() {
    let text = "\n[[rule]]\ndecision = \"deny\"\nmatch = \"write(path=src/**)\"\n";
    let error = Policy::new(folders()).add_file(Layer::User, "policy.toml", text).unwrap_err();
    assert_eq!(
        error.to_string(),
        "policy.toml, line 4: \"write(path=src/**)\" can never match: the path is written alone: write(src/**)"
    );
}

#[test]
fn a_rule_that_a_log_has_is_read_as_it_was_accepted() {
    let mut policy = Policy::new(folders()).reading_recorded();
    policy.add_rule(Decision::Deny, "bash(a && b)").unwrap();
    policy.add_file(Layer::Run, "run.toml", "[[rule]]\ndecision = \"deny\"\nmatch = \"write(src/)\"\n").unwrap();
    // Rules of today's files are not.
    assert!(
        policy.add_file(Layer::User, "u.toml", "[[rule]]\ndecision = \"deny\"\nmatch = \"write(src/)\"\n").is_err()
    );
    assert_eq!(decided(&policy, "write(src/a)").0, Decision::Ask);
}

#[test]
fn a_rule_that_is_offered_is_never_one_that_can_never_match() {
    for line in ["'if' x", "'A=b' c", "'a' '&&' b", "x '>' y", "x ';' y", "x 'a;'", "x '`'", "x '$(y)'", "'!' a"] {
        let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
        let rule = narrowest(&facts).unwrap_or_else(|| panic!("{line}")).to_string();
        assert_eq!(verdict(&bare(&[&format!("allow {rule}")]), &facts).0, Decision::Allow, "{line}: {rule}");
    }
    for path in ["content=x", "path=a/b", "a=b", "~content=x", ":guarded"] {
        let mut facts = call("write(x)");
        facts.paths[0].absolute = format!("/work/space/{path}");
        facts.paths[0].relative = Some(path.into());
        let rule = narrowest(&facts).unwrap().to_string();
        assert_eq!(verdict(&bare(&[&format!("allow {rule}")]), &facts).0, Decision::Allow, "{path}: {rule}");
    }
}

fn writing(tool: &str, arguments: Value) -> CallFacts {
    let path = call("write(src/a.rs)").paths;
    CallFacts { tool: tool.into(), effect: EffectClass::LocalWrite, arguments, paths: path, ..CallFacts::default() }
}

#[test]
fn a_rule_about_content_is_one_about_the_text_that_a_file_tool_writes() {
    let write = |content: &str| writing("write_text_file", json!({"path": "src/a.rs", "content": content}));
    let edit = |new: &str| {
        let edits = json!([{"old_text": "x", "new_text": "y"}, {"old_text": "TOKEN", "new_text": new}]);
        writing("edit_text_file", json!({"path": "src/a.rs", "edits": edits}))
    };
    let decide = |rule: &str, facts: &CallFacts| verdict(&bare(&[rule, "allow write(**)"]), facts).0;
    for (rule, facts, expected) in [
        ("deny write(content=*TOKEN*)", write("a TOKEN\nb"), Decision::Deny),
        ("deny write(content=*TOKEN*)", write("a token"), Decision::Allow),
        ("deny write(content=*TOKEN*)", edit("a TOKEN b"), Decision::Deny),
        ("deny write(content=*TOKEN*)", edit("nothing"), Decision::Allow),
        ("ask write(content=*TOKEN*)", edit("a TOKEN b"), Decision::Ask),
        ("deny edit(content=*TOKEN*)", edit("a TOKEN b"), Decision::Deny),
        ("deny edit(content=*TOKEN*)", write("a TOKEN b"), Decision::Allow),
        ("deny write(content=x, y)", write("x, y"), Decision::Deny),
    ] {
        assert_eq!(decide(rule, &facts), expected, "{rule} {}", facts.arguments);
    }
    let told = Policy::new(folders()).add_rule(Decision::Allow, "write(content=*)").unwrap_err().problem.to_string();
    assert_eq!(told, "a rule about content denies or asks; allow files by their path: write(src/**)");
    let file = "[[rule]]\ndecision = \"allow\"\nmatch = \"write(content=*)\"\n";
    assert!(Policy::new(folders()).add_file(Layer::User, "u.toml", file).is_err());
}
