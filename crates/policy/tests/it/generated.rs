//! Ways round a denial, put together: spellings, contexts, wrappers. Real bash says which run the denied program; no rule may let one
//! of these through.

use crate::real_bash::{Outcome, program, run};
use crate::support::*;
use mainpath_policy::CallFacts;
use mainpath_types::{Access, ApprovalMode, Decision};
use std::fs;

/// Commands that run `evil`.
const SPELLINGS: &[&str] = &[
    "evil",
    "'evil'",
    "e\\vil",
    "ev''il x",
    "\"evil\"",
    "$'evil'",
    "$'\\x65vil'",
    "{evil,}",
    "bin/evil",
    "./bin/../bin/evil",
    "@W/bin/evil",
    "b*/evil",
    "$(echo evil)",
    "x=evil; $x",
    "x=ev; ${x}il",
    "A=1 evil",
    "> x evil",
    "eval evil",
    "eval -- evil",
    "eval ev''il x",
    "command evil",
    "command -- evil",
    "command eval -- evil",
    "builtin eval evil",
    "builtin -- eval -- evil",
    "exec evil",
    "exec -- evil",
    "exec -a ls evil",
    ". <(echo evil)",
    ". -- <(echo evil)",
    "source /dev/stdin <<< evil",
    "bash -c evil",
    "bash -c -- evil",
    "bash -ec 'evil'",
    "bash +x -c evil",
    "bash --norc -c evil",
    "sh -c 'evil x'",
    "dash -c evil",
    "rbash -c evil",
    "rbash -- -c evil || rbash -c evil",
    "bash <<< evil",
    "rbash <<< evil",
    "bash -s <<< evil",
    "bash -s x <<< evil",
    "echo evil | sh",
    "printf 'ev%s' il | rbash",
    "trap evil EXIT",
    "trap -- evil EXIT",
    "trap -- 'evil' DEBUG; true",
    "trap 'evil' ERR; false",
    "coproc evil; wait",
    "coproc eval -- evil; wait",
    "f() { evil; }; f",
    "time evil",
    "time -- evil",
    "time -p evil",
    "time -p -- evil",
    "! time -- evil",
    "mapfile -C evil -c 1 <<< x",
    "mapfile -tC evil -c 1 <<< x",
    "readarray -t -C evil -c1 y <<< x",
    "readarray -tc1 -Cevil y <<< x",
    "jobs -x evil",
    "true & jobs -x evil %1",
    "trap evil 0",
    "trap -- evil RETURN; f() { :; }; f; . /dev/null",
    "exec -l evil",
    "exec -c bin/evil",
    "builtin command evil",
    "builtin source <(echo evil)",
    "coproc x { evil; }; wait",
    "set -- evil; \"$@\"",
    "read x <<< evil; $x",
    "a=(evil); \"${a[@]}\"",
    "printf -v x evil; $x",
    "bash -O extglob -c evil",
    "bash -eo pipefail -c evil",
    "bash -c 'evil' -- x",
    "bash -c '\"$1\"' x evil",
    "bash -ic evil",
    "bash -lc bin/evil",
    "echo evil > y.sh; bash --rcfile y.sh -i <<< true",
    "echo evil > y.sh; bash --init-file y.sh -i <<< true",
    "echo evil > y.sh; ENV=y.sh sh -i <<< true",
    "type evil && $(type -p evil)",
    ". /dev/fd/3 3<<< evil",
    "tee >(sh) <<< evil; wait; sleep 0.05",
    "select x in a; do evil; break; done <<< 1",
    "ls() { evil; }; ls",
    "evil() { command evil; }; evil",
    "env -u X -- nice -n 1 -- timeout 5 evil",
    "PS4='$(evil)'; set -x; true",
    "PS1='$(evil)' bash --norc --noprofile -i <<< true",
    "PS2='$(evil)' bash --norc --noprofile -i <<< $'echo (\\n)' ; PS2='$(evil)' bash --norc --noprofile -i <<< $'echo \\\\\\nx'",
    "PROMPT_COMMAND=evil bash --norc -i <<< true",
    "BASH_ENV=<(echo evil) bash -c true",
];

/// Text in which an index runs `evil`, with what evaluates it.
const EVALUATED: &[&str] = &[
    "let 'a[$(evil)]'",
    "let x='a[$(evil)]'",
    "(( a[$(evil)] ))",
    "x='a[$(evil)]'; (( x ))",
    "x='a[$(evil)]'; echo $(( x ))",
    "x='a[$(evil)]'; echo $[ x ]",
    "x='a[$(evil)]'; [[ x -eq 0 ]]",
    "x='a[$(evil)]'; [[ 0 -lt $x ]]",
    "x='a[$(evil)]'; echo ${y:x}",
    "x='a[$(evil)]'; echo ${y[x]}",
    "x='a[$(evil)]'; y[x]=1",
    "x='a[$(evil)]'; for ((i=x;i<1;i++)); do :; done",
    "[[ -v 'a[$(evil)]' ]]",
    "test -v 'a[$(evil)]'",
    "[ -v 'a[$(evil)]' ]",
    "printf -v 'a[$(evil)]' x",
    "read 'a[$(evil)]' <<< x",
    "read -r x 'a[$(evil)]' <<< 'x y'",
    "declare 'a[$(evil)]=1'",
    "declare -i x='a[$(evil)]'",
    "typeset -i x='a[$(evil)]'",
    "declare -a 'q=([$(evil)]=1)'",
    "readonly -a 'q=([$(evil)]=1)'",
    "readonly -A 'q=([$(evil)]=1)'",
    "f() { local -i x='a[$(evil)]'; }; f",
    "f() { local -a 'q=([$(evil)]=1)'; }; f",
    "unset 'a[$(evil)]'",
    "a=(1); unset 'a[$(evil)]'",
    "true & wait -n -p 'a[$(evil)]'",
    "true & wait -np 'a[$(evil)]'",
    "getopts x 'a[$(evil)]' -x",
    "x='a[$(evil)]'; declare -n r=x; echo $((r))",
    "declare -n r='a[$(evil)]'; echo $r",
    "x='$(evil)'; echo ${x@P}",
    "x='a[$(evil)]'; echo ${!x}",
    "printf '%d' 'a[$(evil)]'",
    "exec {a[$(evil)]}> x",
    "exec {a['$(evil)']}> x",
    "mapfile 'a[$(evil)]' <<< x",
    "x='a[$(evil)]'; y=(1); echo ${#y[x]}",
    "x='a[$(evil)]'; y[x]+=1",
    "x='a[$(evil)]'; y=([x]=1)",
    "x='a[$(evil)]'; declare -A z; z[x]=1; echo ${z[x]} ${!y[x]}",
    "x='a[$(evil)]'; y=(1); unset y[x]",
    "x='a[$(evil)]'; echo ${@:x}",
    "x='a[$(evil)]'; set -- 1; echo ${*:0:x}",
    "x='a[$(evil)]'; cat <<< $((x))",
    "x='a[$(evil)]'; cat <<E\n$((x))\nE",
    "x='a[$(evil)]'; test -v y[x]",
    "x='a[$(evil)]'; read y[x] <<< 1",
    "x='a[$(evil)]'; printf -v y[x] 1",
    "x='a[$(evil)]'; declare y[x]=1",
    "x='a[$(evil)]'; : ${y[x]:=1}",
    "x='a[$(evil)]'; echo ${y[x]-1}",
    "x='a[$(evil)]'; echo ${y[@]:x:1}",
    "x='a[$(evil)]'; [[ $x -gt 0 ]]",
    "x='a[$(evil)]'; [ -v y[x] ]",
    "x='a[$(evil)]'; (( y = x ))",
    "x='a[$(evil)]'; (( 1 ? x : 0 ))",
    "x='a[$(evil)]'; while (( x )); do break; done",
    "x='a[$(evil)]'; declare -i y; y=x",
    "x='a[$(evil)]'; y=1; y=$((y+x))",
    "x='a[$(evil)]'; echo \"${y:$x}\"",
    "x='a[$(evil)]'; echo $(( $x ))",
    "x='a[$(evil)]'; let y+=x",
    "x='a[$(evil)]'; exec {y[x]}> z",
];

/// Ways to set a variable `NAME`; bash evaluates what some variables are set to.
const SETS: &[&str] = &[
    "NAME='a[$(evil)]'",
    "export NAME='a[$(evil)]'",
    "readonly NAME='a[$(evil)]'",
    "declare NAME='a[$(evil)]'",
    "for NAME in 'a[$(evil)]'; do :; done",
    "read NAME <<< 'a[$(evil)]'",
    "printf -v NAME '%s' 'a[$(evil)]'",
    "unset x; : ${NAME:='a[$(evil)]'}",
    "NAME+='a[$(evil)]'",
    "f() { local NAME='a[$(evil)]'; }; f",
];
const NAMES: &[&str] = &[
    "OPTIND",
    "RANDOM",
    "SRANDOM",
    "HISTCMD",
    "SECONDS",
    "LINENO",
    "BASHPID",
    "EPOCHSECONDS",
    "MAILCHECK",
    "OPTERR",
    "COLUMNS",
    "HISTSIZE",
    "FUNCNEST",
    "TMOUT",
    "PPID",
    "UID",
    "plain",
];

/// Commands that run the command `@C`.
const WRAPPERS: &[&str] = &[
    "env @C",
    "env -- @C",
    "env A=1 @C",
    "env -u A @C",
    "env -S '@C'",
    "env -C . @C",
    "nice @C",
    "nice -n 1 -- @C",
    "nice -5 @C",
    "nohup @C",
    "nohup -- @C",
    "setsid -w @C",
    "timeout 5 @C",
    "timeout -k 1 --signal=9 5 @C",
    "stdbuf -o0 @C",
    "stdbuf --output=0 -- @C",
    "ionice -c 3 @C",
    "ssh-agent @C",
    "ssh-agent -- @C",
    "/usr/bin/time @C",
    "taskset 1 @C",
    "chrt -o 0 @C",
    "flock x.lock @C",
    "setarch x86_64 @C",
    "linux64 @C",
    "prlimit @C",
    "choom -n 0 -- @C",
    "logsave -q /dev/null @C",
    "unshare -r @C",
    "echo x | xargs @C",
    "echo x | xargs -- @C",
    "xargs -n 1 -a /dev/null @C",
    "echo x | xargs -P 2 --max-args=1 @C",
    "echo x | xargs -E y @C",
    "echo x | xargs -i @C",
    "timeout -s KILL 5 @C",
    "nice --adjustment=1 @C",
    "env -i PATH=\"$PATH\" MARK=\"$MARK\" @C",
    "env -vS '@C'",
    "echo x | xargs -I{} @C {}",
    "find . -maxdepth 0 -exec @C \\;",
    "find . -maxdepth 0 -exec @C {} +",
    "find . -maxdepth 0 -execdir env @C \\;",
    "run-parts --regex '^evil$' bin; @C",
    "exec @C",
    "command @C",
    "time @C",
    "coproc @C; wait",
    "strace -o /dev/null @C",
    "strace -o '|@C' true",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='@C' bin",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action exec='@C' bin",
    "tar cf /dev/null --checkpoint=1 --checkpoint-act=exec='@C' bin",
    "tar cf /dev/null --checkpoint=1 --checkpoint-a exec='@C' bin",
    "tar cfI x.tar '@C' bin",
    "tar cIf '@C' x.tar bin",
    "tar -cf x.tar -I '@C' bin",
    "tar cf x.tar --use-comp='@C' bin",
    "echo x | split --filter='@C'",
    "echo x | split --filt '@C'",
    "sort --compress-program='@C' -S 1k big",
    "sdiff --diff-program='@C' f f",
    "sdiff --diff-p '@C' f f",
    "diff3 --diff-program='@C' f f f",
    "diff3 --diff-prog='@C' f f f",
    "make --eval='t:;@C' t",
    "make --eva='t:;@C' t",
    "make --eval $'t:\\n\\t@C' t",
    "make -f - <<< $'t:\\n\\t@C'",
    "make --fil=- <<< $'t:\\n\\t@C'",
    "make --makef /dev/stdin <<< $'t:\\n\\t@C'",
    "make SHELL='@C' -f mk",
    "MAKEFLAGS='--eval=t:;@C' make t",
    "sqlite3 :memory: '.shell @C'",
    "sqlite3 <<< '.shell @C'",
    "sqlite3 :memory: <<< '.system @C'",
    "echo '.shell @C' | sqlite3",
    "printf '.shell @C\\n' | sqlite3 :memory:",
    "sqlite3 << 'X'\n.sh @C\nX",
    "dpkg --pre-invoke='@C' --admindir=. --force-not-root --instdir=. --configure -a",
    "apt-get -o APT::Update::Pre-Invoke::='@C' -o Dir::State::lists=lib -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/dev/null -o Dir::Cache=lib update",
    "sed -n '1e @C' f",
    "sed '1s/.*/@C/e' f",
    "ssh -o ProxyCommand='@C' host",
    "rsync -e '@C' a host:b",
    "script -qc '@C' /dev/null",
];

/// Contexts in which the command `@C` runs.
const CONTEXTS: &[&str] = &[
    "@C",
    "{ @C\n}",
    "(@C\n)",
    "true && @C",
    "false || @C",
    "true; @C",
    "if true; then @C\nfi",
    "if @C\nthen :; fi",
    "for i in 1; do @C\ndone",
    "while @C\ndo break; done",
    "until false || @C\ndo break; done",
    "case x in x) @C\n;; esac",
    "echo x | { @C\n}",
    "{ @C\n} | cat",
    "{ @C\n} > out 2>&1",
    "{ @C\n} & wait",
    "echo \"$(@C\n)\"",
    "x=$(@C\n)",
    "cat <(@C\n)",
    "echo ${x:-$(@C\n)}",
    "[[ $(@C\n) ]]",
    "cat <<E\n$(@C\n)\nE",
    "cat <<< \"$(@C\n)\"",
    "f() { @C\n}; f",
    "function g { @C\n}; g",
    "coproc { @C\n}; wait",
    "time { @C\n}",
    "! { @C\n}",
    "(cd bin/.. && @C\n)",
];

/// Lines that write the text of a script to the file `F`.
const WRITES: &[&str] = &[
    "printf 'ev%s\\n' il > F",
    "printf 'ev%s\\n' il >> F",
    "printf 'ev%s\\n' il | tee F > F.out",
    "printf 'ev%s\\n' il | tee F.out F > F.more",
    "printf 'ev%s\\n' il | dd of=F",
    "printf 'ev%s\\n' il | sort -o F",
    "printf 'ev%s\\n' il | sort -oF",
    "printf 'ev%s\\n' il | sort --outp=F",
    "printf 'ev%s\\n' il | shuf -o F",
    "printf 'ev%s\\n' il | sed -n 'w F'",
    "printf 'ev%s\\n' il | sed -n 's/e/e/w F'",
    "printf 'ev%s\\n' il | awk '{print > \"F\"}'",
    "printf 'ev%s\\n' il | uniq - F",
    "printf 'ev%s\\n' il > F.out; cp F.out F",
    "printf 'ev%s\\n' il > F.out; mv F.out F",
    "printf 'ev%s\\n' il > F.out; ln -s F.out F",
    "printf 'ev%s\\n' il > F.out; ln F.out F",
    "printf 'ev%s\\n' il > F.out; install F.out F",
    "find f -fprintf F 'ev%sil\\n' ''; find f -fprintf F 'evil\\n'",
    "patch -s <<'P'\n--- /dev/null\n+++ F\n@@ -0,0 +1 @@\n+evil\nP\n",
    "printf -- '--- /dev/null\\n+++ F\\n@@ -0,0 +1 @@\\n+evil\\n' > F.diff; patch -s < F.diff",
    "printf -- '--- /dev/null\\n+++ F\\n@@ -0,0 +1 @@\\n+evil\\n' | git apply -p0",
    "printf -- '--- /dev/null\\n+++ F\\n@@ -0,0 +1 @@\\n+evil\\n' > F.diff; git apply -p0 F.diff",
    "v=F; printf 'ev%s\\n' il > $v",
    "for v in F; do printf 'ev%s\\n' il > \"$v\"; done",
    "printf 'ev%s\\n' il | tee {F,F.out} > F.more",
];

/// Lines that run the file `F`.
const RUNS: &[&str] = &[
    "sh F",
    "bash ./F",
    ". ./F",
    "source -- ./F",
    "chmod +x F; ./F",
    "rbash F",
    "env sh F",
    "true && { dash -e F\n}",
    "bash -- F",
];

/// Lines that write a recipe with `evil` and run it.
const RECIPES: &[&str] = &[
    "printf 'x:\\n\\tev%s\\n' il > Makefile; make",
    "printf 'x:\\n\\tev%s\\n' il > makefile; make x",
    "printf 'x:\\n\\tev%s\\n' il > GNUmakefile; make",
    "printf 'x:\\n\\tev%s\\n' il > m; make -f m",
    "printf 'x:\\n\\tev%s\\n' il > m; make -fm",
    "printf 'x:\\n\\tev%s\\n' il > m; make --file=m",
    "printf 'x:\\n\\tev%s\\n' il > m; make --makef m",
    "mkdir d; printf 'x:\\n\\tev%s\\n' il > d/Makefile; make -C d",
    "mkdir d; cd d; printf 'x:\\n\\tev%s\\n' il > Makefile; make",
    "printf 'include y.mk' > mk; printf 'x:\\n\\tev%s\\n' il > y.mk; make -f mk",
    "printf 'x:\\n\\tev%s\\n' il | tee Makefile; make",
    "printf 'ev%s\\n' il > .bashrc; bash -i <<< true",
    ": y; sed -i 's/.*/evil/' [f]; sh f",
    ": y; printf 'evil\\n' | tee ? > /dev/null; sh f",
    ": y; for v in [f]; do printf 'evil\\n' > $v; done; sh f",
    ": y; v=?; printf 'evil\\n' > $v; sh f",
    ": y; for v in f; do printf 'evil\\n' > \"$v\"; done; bash ./f",
    ": y; read v <<< f; printf 'evil\\n' > \"$v\"; bash ./f",
    "printf 'evil\\n' > y; xargs -I{} cp y {} <<< y2; sh y2",
    "exec 5> y; echo evil >&5; sh y",
    "mkfifo y; echo evil > y & sh y",
    "ln -s /dev/stdin y; sh y <<< evil",
    "cp /dev/stdin y <<< evil; . ./y",
    "{ echo ev''il; } > y; sh < y",
    "printf 'ev%s\\n' il > y; cat y | sh",
    "echo evil > y; xargs sh <<< y",
    "echo evil > y; find . -name y -exec sh {} +",
    "printf 'ev%s\\n' il | split - y; sh yaa",
    "split - y <<< evil; sh yaa",
    "printf 'ev%s\\n' il | csplit -s -f y - 1; sh y00",
    "printf 'ev%s\\n' il > z; split z y; . ./yaa",
    "printf 'ev%s\\n' il | gzip > y.gz; gunzip y.gz; sh y",
];

/// Ways to run the file `deploy.sh` of the workspace (`D`), or of its folder `scripts`.
const DEPLOYS: &[&str] = &[
    "./D",
    "././D",
    ".//D x",
    "lib/../D",
    "@W/D",
    "@W/bin/../D",
    "./'D'",
    "sh D",
    "bash D",
    "bash ./D",
    "bash -- D",
    "bash -e D x",
    "bash -o pipefail D",
    "dash @W/D",
    "rbash D",
    ". D",
    ". ./D",
    "source -- ./D",
    "command . ./D",
    "env ./D",
    "env sh D",
    "timeout 5 bash D",
    "exec ./D",
    "exec -- bash D",
    "bash < D",
    "cat D | sh",
    "$(echo ./D)",
    "\"$PWD\"/D",
    "PATH=.:$PATH D",
    "PATH=$PWD; D",
    "cd bin; ../D",
    "cd bin/.. && ./D",
    "cd \"$PWD\" && ./D",
    "pushd bin; bash ../D",
    "env -C bin ../D",
    "find . -name D -exec sh {} \\;",
    "find . -maxdepth 1 -name D -execdir ./{} \\;",
    "echo D | xargs sh",
    "ls D | xargs -I{} bash {}",
    "bash -c ./D",
    "bash -c '. ./D'",
    "eval ./D",
    "/proc/self/cwd/D",
    "ln -s D y; ./y",
    "cp D y; sh y",
    "busybox sh D",
];
const RULES: &[&str] = &["./D *", "D *", "@W/D *", "./lib/../D *", "bash D"];

fn facts(line: &str) -> CallFacts {
    CallFacts { commands: vec![line.into()], ..call("bash(x)") }
}

/// Returns true if a line runs unasked where everything is open but for one denial.
fn allowed(line: &str, deny: &str) -> bool {
    let policy = bare(&[&format!("deny bash({deny})"), "allow bash(*)"]);
    let line = line.replace("@W", "/work/space");
    verdict_in(&policy, Access::Full, ApprovalMode::Yes, &facts(&line)).0 == Decision::Allow
}

/// The lines, by what they vary.
fn groups() -> Vec<(&'static str, Vec<String>)> {
    let within = |contexts: usize, commands: &mut dyn Iterator<Item = String>| -> Vec<String> {
        let lines = |command: String| {
            CONTEXTS.iter().take(contexts).map(move |context| context.replace("@C", &command)).collect::<Vec<_>>()
        };
        commands.flat_map(lines).collect()
    };
    let texts = |texts: &'static [&str]| texts.iter().map(|line| line.to_string());
    let simple = ["evil", "bin/evil", "sh -c evil", "env evil", "evil x"];
    let mut wrapped = WRAPPERS.iter().flat_map(|wrapper| simple.iter().map(|command| wrapper.replace("@C", command)));
    let written = WRITES.iter().flat_map(|write| RUNS.iter().map(move |run| format!("{write}\n{run}")));
    // Each has a file of its own, as all are in one folder.
    let mut written = written.zip(1..).map(|(line, number)| line.replace('F', &format!("s{number}")));
    let mut set = NAMES.iter().flat_map(|name| SETS.iter().map(|set| set.replace("NAME", name)));
    vec![
        ("spellings", within(14, &mut texts(SPELLINGS))),
        ("places where bash evaluates", within(6, &mut texts(EVALUATED))),
        ("variables that bash evaluates", within(1, &mut set)),
        ("wrappers", within(3, &mut wrapped)),
        ("files written and run", within(1, &mut written)),
        ("recipes and settings", within(4, &mut texts(RECIPES))),
    ]
}

/// Runs lines in folders that hold what they need.
fn outcomes(lines: &[String]) -> Vec<Outcome> {
    let programs = tempfile::tempdir().unwrap();
    program(&programs.path().join("evil"), "#!/bin/sh\n: > \"$MARK\"\n");
    let big: String = (0..3_000).map(|number| format!("{number}\n")).collect();
    // Recipes and start-up files would be found by other lines.
    let is_alone = |line: &str| {
        line.contains("printf 'x:") || line.contains(" y") || line.contains("> .") || line.contains(">> .")
    };
    run(lines, programs.path(), &is_alone, &|at| {
        for folder in ["bin", "scripts", "scripts/sub", "lib", "lib/partial"] {
            fs::create_dir(at.join(folder)).unwrap();
        }
        program(&at.join("bin/evil"), "#!/bin/sh\n: > \"$MARK\"\n");
        for file in ["deploy.sh", "scripts/deploy.sh"] {
            program(&at.join(file), "#!/bin/sh\n: > \"$MARK\"\n");
        }
        fs::write(at.join("f"), "x\n").unwrap();
        fs::write(at.join("mk"), "t:\n\t:\n").unwrap();
        fs::write(at.join("big"), &big).unwrap();
    })
}

#[test]
fn no_generated_line_that_runs_a_denied_program_is_allowed() {
    let groups = groups();
    let lines: Vec<String> = groups.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let outcomes = outcomes(&lines);
    let mut left = outcomes.iter();
    for (group, lines) in &groups {
        let ran = left.by_ref().take(lines.len()).filter(|outcome| outcome.ran).count();
        println!("hardening: generated lines: {group}: {ran} of {} run the denied program in bash", lines.len());
    }
    let ran: Vec<&String> =
        lines.iter().zip(&outcomes).filter(|(_, outcome)| outcome.ran).map(|(line, _)| line).collect();
    let through: Vec<&str> = ran.iter().filter(|line| allowed(line, "evil *")).map(|line| line.as_str()).collect();
    println!("hardening: generated lines: {} of {} run the denied program in bash", ran.len(), lines.len());
    assert!(through.is_empty(), "{} of {} are let through:\n{}", through.len(), ran.len(), through.join("\n"));
    assert!(
        lines.len() >= 3_000 && ran.len() * 5 > lines.len() * 3,
        "only {} of {} lines run it here",
        ran.len(),
        lines.len()
    );
}

#[test]
fn a_denied_file_is_denied_by_every_spelling_and_interpreter() {
    let here = DEPLOYS.iter().map(|line| line.replace('D', "deploy.sh").replace("PWdeploy.sh", "PWD"));
    let below = DEPLOYS.iter().map(|line| line.replace('D', "scripts/deploy.sh").replace("PWscripts/deploy.sh", "PWD"));
    let inside = DEPLOYS.iter().map(|line| {
        let line = line.replace('D', "deploy.sh").replace("PWdeploy.sh", "PWD").replace("@W", "@W/scripts");
        format!("cd scripts && {{ {line}\n}}").replace("bin", "sub").replace("lib/..", "sub/..")
    });
    let lines: Vec<(String, &str)> = here
        .map(|line| (line, "deploy.sh"))
        .chain(below.chain(inside).map(|line| (line, "scripts/deploy.sh")))
        .collect();
    let texts: Vec<String> = lines.iter().map(|(line, _)| line.clone()).collect();
    let outcomes = outcomes(&texts);
    let (mut through, mut ran) = (Vec::new(), 0);
    for ((line, file), _) in lines.iter().zip(&outcomes).filter(|(_, outcome)| outcome.ran) {
        for rule in RULES.iter().map(|rule| rule.replace('D', file).replace("@W", "/work/space")) {
            let is_bash = rule.starts_with("bash ");
            if !is_bash || line.contains(&rule) {
                ran += 1;
                through.extend(allowed(line, &rule).then(|| format!("{rule}: {line}")));
            }
        }
    }
    assert!(through.is_empty(), "{} of {ran} are let through:\n{}", through.len(), through.join("\n"));
    assert!(ran > 400, "only {ran} lines run it here");
}
