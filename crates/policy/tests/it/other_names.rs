//! Other names of programs and subcommands: a denial covers them, an allow does not.

use crate::support::*;
use mainpath_policy::CallFacts;
use mainpath_types::Decision;

fn decision(rule: &str, line: &str) -> Decision {
    let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
    verdict(&bare(&[rule]), &facts).0
}

#[test]
fn a_denial_covers_the_other_names_of_a_subcommand_and_an_allow_does_not() {
    for (command, line) in [
        ("npm publish", "npm pub"),
        ("npm publish", "npm --tag x publ"),
        ("npm install", "npm i left-pad"),
        ("npm run", "npm run-script build"),
        ("npm test", "npm t"),
        ("pnpm remove", "pnpm rm x"),
        ("pip install", "pip3 install x"),
        ("pip install", "pip3.12 install x"),
        ("pip install", "python3 -m pip install x"),
        ("pip install", "python -I -mpip install x"),
        ("pytest", "python3.12 -m pytest -q"),
        ("pytest", "py -m pytest -q"),
        ("python", "python3.12 x.py"),
        ("git push", "git send-pack . main"),
        ("git push", "git -C sub subtree push --prefix=x . main"),
        ("git push", "git lfs push origin"),
        ("docker push", "docker image push x"),
        ("docker run", "podman container run x"),
        ("cargo test", "cargo t"),
        ("git-evil", "git -C sub evil x"),
        ("docker-compose up", "docker compose up -d"),
    ] {
        let program = command.split(' ').next().unwrap();
        let of_podman = line.starts_with("podman") && program == "docker";
        let expected = if of_podman { Decision::Ask } else { Decision::Deny };
        assert_eq!(decision(&format!("deny bash({command} *)"), line), expected, "{command}: {line}");
        assert_eq!(decision(&format!("allow bash({command} *)"), line), Decision::Ask, "{command}: {line}");
    }
    for (command, line) in [
        ("npm publish", "npm p"),
        ("npm publish", "npm run pub"),
        ("npm install", "npm view i"),
        ("git push", "git stash push"),
        ("git---version", "git --version"),
        ("git push", "git add send-pack"),
        ("pip install", "python3 x.py -m pip install"),
        ("docker push", "docker ps image push"),
    ] {
        let rules = bare(&[&format!("deny bash({command} *)"), "allow bash(*)"]);
        let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
        assert_eq!(verdict(&rules, &facts).0, Decision::Allow, "{command}: {line}");
    }
}

#[test]
fn a_rule_for_a_file_is_one_for_that_file_alone() {
    for (rule, line) in [
        ("./deploy.sh", "cd sub && bash other.sh"),
        ("./deploy.sh", "bash scripts/deploy.sh"),
        ("scripts/deploy.sh", "bash deploy.sh"),
        ("scripts/deploy.sh", "./deploy.sh"),
        ("./deploy.sh", "cat deploy.sh"),
        ("./deploy.sh", "bash x.sh deploy.sh"),
        ("./*", "/usr/bin/git status"),
        ("./*", "git status"),
        ("/usr/bin/*", "./git status"),
    ] {
        let rules = bare(&[&format!("deny bash({rule} *)"), "allow bash(*)"]);
        let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
        assert_eq!(verdict(&rules, &facts).0, Decision::Allow, "{rule}: {line}");
    }
    for (rule, line) in [
        ("./x.py", "python3 x.py"),
        ("./x.py", "python3.12 -W ignore x.py"),
        ("./x.js", "node --require ./y x.js"),
        ("./x.ts", "deno run x.ts"),
        ("./x.rb", "cd sub && ruby ../x.rb"),
        ("~/bin/x", "/home/u/bin/x"),
        ("/home/u/bin/x", "perl ~/bin/x"),
        ("./x.py arg", "python3 x.py arg"),
        ("./x/../y.sh", "sh y.sh"),
    ] {
        assert_eq!(decision(&format!("deny bash({rule} *)"), line), Decision::Deny, "{rule}: {line}");
    }
    // Folders are followed through a line; one that only the shell knows may be any.
    assert_eq!(decision("deny bash(scripts/x.sh *)", "cd a; cd ..; cd scripts; ./x.sh"), Decision::Deny);
    for line in [
        "cd \"$d\" && ./x.sh",
        "cd \"$d\"; bash x.sh",
        "cd - && . ./x.sh",
        "HOME=/x; cd; y=1; ./x.sh",
        "CDPATH=/x; cd y; ./x.sh",
    ] {
        let rules = bare(&["deny bash(scripts/x.sh *)", "allow bash(*)"]);
        let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
        assert_eq!(verdict(&rules, &facts).0, Decision::Ask, "{line}");
    }
    for line in [
        "env -C scripts ./x.sh",
        "env -Cscripts ./x.sh",
        "env A=1 --chdir scripts ./x.sh",
        "env --chdir=scripts sh x.sh",
        "sudo -D scripts ./x.sh",
        "sudo -u a --chdir=scripts ./x.sh",
    ] {
        assert_eq!(decision("deny bash(scripts/x.sh *)", line), Decision::Deny, "{line}");
    }
    for (line, expected) in [
        ("find a -execdir ./x.sh \\;", Decision::Ask),
        ("find a -okdir ./x.sh \\;", Decision::Ask),
        ("find a -exec ./x.sh \\;", Decision::Allow),
        ("env -u scripts ./x.sh", Decision::Allow),
    ] {
        let facts = CallFacts { commands: vec![line.into()], ..call("bash(x)") };
        assert_eq!(verdict(&bare(&["deny bash(scripts/x.sh *)", "allow bash(*)"]), &facts).0, expected, "{line}");
    }
    // Up to eight folders are kept apart, each once.
    let after = |folders: &[usize]| {
        let line: String = folders.iter().map(|folder| format!("cd /{folder}; ")).collect();
        let rules = bare(&["deny bash(scripts/x.sh *)", "allow bash(*)"]);
        let facts = CallFacts { commands: vec![line + "./x.sh"], ..call("bash(x)") };
        verdict(&rules, &facts).0
    };
    assert_eq!(after(&[1, 2, 3, 4, 5, 6, 7]), Decision::Allow);
    assert_eq!(after(&[1, 1, 2, 2, 3, 3, 3, 3, 3, 3, 1]), Decision::Allow);
    assert_eq!(after(&[1, 2, 3, 4, 5, 6, 7, 8]), Decision::Ask);
    assert_eq!(decision("deny bash(~/x.sh *)", "cd; ./x.sh"), Decision::Deny);
    // An allow is read word by word.
    for line in ["bash deploy.sh", "././deploy.sh", "/work/space/deploy.sh", "cd x && ../deploy.sh"] {
        assert_eq!(decision("allow bash(./deploy.sh *)", line), Decision::Ask, "{line}");
    }
}
