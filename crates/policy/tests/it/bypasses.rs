//! Ways round a denial of `evil`, one by one: bash really runs each here, so that each is a way, and no rule lets one through.

use crate::real_bash::{Outcome, program, run};
use crate::support::*;
use mainpath_policy::CallFacts;
use mainpath_types::{Access, ApprovalMode, Decision};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Lines that make bash run `evil`, in a folder with a repository of two commits.
const WAYS: &[&str] = &[
    // An index of an array, which bash runs where it takes text for a number or for a name.
    r##"let a\[\$\(evil\)\]"##,
    r##"let a[\$"(evil)"]"##,
    r##"let 'a[$''(evil)]'"##,
    r##"let $'a[$(evil)]'"##,
    r##"let $"a[\$(evil)]""##,
    r##"[[ -v a\[\$\(evil\)\] ]]"##,
    r##"[[ a\[\$\(evil\)\] -eq 0 ]]"##,
    r##"[[ 'a[$''(evil)]' -eq 0 ]]"##,
    r##"[[ 'a[$'"(evil)]" -eq 0 ]]"##,
    r##"test -v a\[\$\(evil\)\]"##,
    r##"printf -v a\[\$\(evil\)\] x"##,
    r##"read a\[\$\(evil\)\] <<< x"##,
    r##"declare a\[\$\(evil\)\]=1"##,
    r##"typeset -i x=a\[\$\(evil\)\]"##,
    r##"x=a\[\$\(evil\)\]; (( x ))"##,
    r##"x=a\[\$\(evil\)\]; echo $(( x ))"##,
    r##"x=a\[\$\(evil\)\]; [[ x -eq 0 ]]"##,
    r##"x=a\[\$\(evil\)\]; y[x]=1"##,
    r##"let a[$'\u0024'\(evil\)]"##,
    r##"x=\$; y="a[$x(evil)]"; let "$y""##,
    r##"printf -v x 'a[\x24(evil)]'; let $x"##,
    r##"x=$(printf 'a[\x24(evil)]'); let $x"##,
    r##"x=$(printf 'a[\044(evil)]'); echo $((x))"##,
    r##"x=$(echo -e 'a[\x24(evil)]'); echo $((x))"##,
    r##"x='a[$(evil)]'; for ((i=x;i<1;i++)); do :; done"##,
    r##"x='a[$(evil)]'; z=(); z[x]=1"##,
    r##"x='a[$(evil)]'; declare -n r=x; echo $((r))"##,
    r##"x='a[`evil`]'; let x"##,
    r##"x=$(tr _ '$' <<< 'a[_(evil)]'); echo $((x))"##,
    r##"x=$(sed 's/_/$/' <<< 'a[_(evil)]'); echo $((x))"##,
    r##"x='a[_(evil)]'; x=${x/_/$}; echo $((x))"##,
    r##"x='a[_(evil)]'; x=${x/_/\$}; let x"##,
    // An index that ends where the shell sees another command.
    "true a[;evil; echo ]",
    "echo a[ | evil | cat ]",
    // A here-document behind something that is no simple command.
    "((1))<<E\n$(evil)\nE",
    "((\n))<<E\n)for i in 'x[$(evil)]'a[\nE",
    "[[ a ]] <<E\n$(evil)\nE",
    "for ((i=0;i<1;i++)) do :; done <<E\n`evil`\nE",
    "while ((1)) <<E\n$(evil)\nE\ndo break; done",
    "{ :; } <<E\n) $(evil)\nE",
    "! [ a ] <<E\n$(evil)\nE",
    "case a in b) ;; esac <<E\n$(evil)\nE",
    "f() { :; } <<E\n$(evil)\nE\nf",
    // What a shell reads from elsewhere.
    ". <(echo evil)",
    "source <(echo evil)",
    "source <(printf 'e\\x76il')",
    ". /dev/stdin <<< evil",
    ". /dev/stdin < <(printf ev; echo il)",
    "source /dev/fd/0 <<< evil",
    "source /proc/self/fd/0 <<< evil",
    "echo evil | bash /dev/stdin",
    "echo evil | sh /dev/fd/0",
    "printf '%s%s' ev il | bash -",
    "printf '%s%s' ev il | bash",
    "bash <(printf '%s%s' ev il)",
    "bash < <(printf '%s%s' ev il)",
    "bash --rcfile <(printf '%s%s' ev il) -i",
    "exec 3< <(printf '%s%s' ev il); bash /dev/fd/3",
    "x=ev; . <(echo ${x}il)",
    "x=ev; ${x}il",
    "x=ev; bash -c \"${x}il\"",
    "bash -c '$0' evil",
    "bash -c '\"$@\"' x evil",
    "eval ev''il",
    "eval \"$(printf '%s%s' ev il)\"",
    "trap evil EXIT",
    "trap evil DEBUG; true",
    "mapfile -C evil -c 1 <<< x",
    "command evil",
    "exec evil",
    "coproc evil; wait",
    "time evil",
    "! evil",
    "alias x=evil\nshopt -s expand_aliases\nalias x=evil\nx",
    "hash -p $PWD/bin/evil ls; ls",
    "BASH_CMDS[ls]=$PWD/bin/evil; ls",
    "PROMPT_COMMAND=evil bash --norc -i <<< true",
    "PS4='$(evil)'; set -x; true",
    "BASH_ENV=<(echo evil) bash -c true",
    "f='() { evil; }'; env \"BASH_FUNC_x%%=$f\" bash -c x",
    // Files that the line writes and runs.
    "printf 'ev%s' il > x.sh; . ./x.sh",
    "printf 'ev%s' il > x.sh; bash x.sh",
    "printf '#!/bin/sh\\nev%s' il > x; chmod +x x; ./x",
    "printf 'ev%s' il | tee x.sh > /dev/null; sh ./x.sh",
    "cp bin/evil other; ./other",
    "ln -s bin/evil other; ./other",
    // Programs that run others.
    "/lib*/ld-linux-*.so.* /bin/sh -c evil",
    "logsave -q /dev/null evil",
    "env evil",
    "env -S evil",
    "env -S 'A=1 evil'",
    "env --split-string=evil",
    "env -i PATH=\"$PATH\" MARK=\"$MARK\" evil",
    "nice evil",
    "nohup evil",
    "setsid -w evil",
    "timeout 5 evil",
    "stdbuf -o0 evil",
    "ssh-agent evil",
    "ssh-agent -t 5 evil",
    "flock x.lock evil",
    "script -qc evil /dev/null",
    "setarch x86_64 evil",
    "linux64 evil",
    "unshare -r evil",
    "echo evil | xargs -I{} env {}",
    "echo x | xargs evil",
    "echo evil | xargs env",
    "echo evil | xargs -0 sh -c",
    "xargs -a /dev/null evil",
    "find . -maxdepth 0 -exec evil \\;",
    "find . -maxdepth 0 -exec env evil {} +",
    "find bin -name 'e*' -exec {} \\;",
    "find . -maxdepth 0 -execdir sh -c evil \\;",
    // Git.
    "git -c alias.x='!evil' x",
    "git -C . -c alias.x='!evil' --no-pager x",
    "git -c 'alias.x=!f() { evil; }; f' x",
    "X='!evil' git --config-env=alias.x=X x",
    "git config alias.x '!evil'; git x",
    "git config set alias.x '!evil'; git x",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!evil' git x",
    "git -c core.fsmonitor=evil status",
    "git -c core.editor=evil commit --amend --allow-empty",
    "git -c core.sshCommand=evil ls-remote ssh://host/x",
    "git -c diff.external=evil diff HEAD~1",
    "git -c pager.log=evil log",
    "git -c core.hooksPath=bin/hooks commit --allow-empty -m x",
    "git -c credential.helper='!evil' credential fill <<< $'protocol=https\\nhost=h\\n'",
    "git -c gpg.program=evil commit --allow-empty -S -m x",
    "git -c filter.x.clean=evil -c core.attributesFile=<(echo '* filter=x') add -A",
    "git -c protocol.ext.allow=always ls-remote 'ext::evil'",
    "git -c sequence.editor=evil rebase -i HEAD~1",
    "git bisect start HEAD HEAD~1 && git bisect run evil",
    "git bisect start HEAD HEAD~2; git bisect run sh -c evil",
    "git rebase --exec evil HEAD~1",
    "git rebase --exe=evil HEAD~1",
    "x=bisect; git bisect start HEAD HEAD~1; git \"$x\" run evil",
    "x=rebase; git \"$x\" --exec evil HEAD~1",
    "git rebase --ex evil HEAD~1",
    "git rebase -x evil HEAD~1",
    "git rebase -xevil HEAD~1",
    "x='--exec evil'; git rebase $x HEAD~1",
    "git clone -q . sub; git -c protocol.file.allow=always submodule --quiet add ./sub lib; git submodule foreach evil",
    "git clone -q . sub; git -c protocol.file.allow=always submodule --quiet add ./sub lib; git submodule --quiet foreach --recursive 'true; evil'",
    "FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter evil HEAD~1..HEAD",
    "FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --tree-filter evil HEAD~1..HEAD",
    "git difftool -y -x evil HEAD~1",
    "git difftool -y --extcmd=evil HEAD~1",
    "git grep -Oevil a",
    "git grep --open-files-in-pager=evil a",
    "git clone --upload-pack=evil . copy",
    "git clone -u evil . copy",
    "git clone --u evil . copy",
    "git clone -q --conf alias.x='!evil' . copy; git -C copy x",
    "git clone -q -calias.x='!evil' . copy; git -C copy x",
    "git clone -q --te=bin . copy",
    "git fetch --upload-pack evil . main",
    "git ls-remote --u=evil .",
    "git push --rece=evil . HEAD:x",
    "git fetch --upload-p=evil . main",
    "git ls-remote --upload-pack=evil .",
    "git push --receive-pack=evil . HEAD:x",
    "git push --exec=evil . HEAD:x",
    "git archive --remote=. --exec=evil HEAD",
    "git clone -q -c core.fsmonitor=evil . copy; cd copy; git status",
    "git clone -q --template=bin . copy",
    "git clone -q --config alias.x='!evil' . copy; git -C copy x",
    "GIT_EXTERNAL_DIFF=evil git log -p --ext-diff",
    "GIT_PAGER=evil git -p log",
    "GIT_EDITOR=evil git commit --amend --allow-empty",
    "GIT_SEQUENCE_EDITOR=evil git rebase -i HEAD~1",
    "GIT_SSH_COMMAND=evil git ls-remote ssh://host/x",
    "export EDITOR=evil; git commit --amend --allow-empty",
    "env VISUAL=evil git commit --amend --allow-empty",
    "GIT_SEQUENCE_EDITOR='sed -i 1iexec\\ evil' git rebase -i HEAD~1",
    "GIT_EDITOR='sed -i 1iexec\\ evil' git rebase -i HEAD~1",
    "EDITOR='sed -i s/^pick.*/exec\\ evil/' git rebase -i HEAD~1",
    "git -c sequence.editor='sed -i 1ix\\ evil' rebase -i HEAD~1",
    "git -c core.editor='sed -i 1iexec\\ evil' rebase -i HEAD~1",
    "printf '[alias]\\nx = !ev%s\\n' il >> .git/config; git x",
    "printf '[alias]\\nx = !ev%s\\n' il > .gitconfig; git x",
    "cd .git; printf '[alias]\\nx = !ev%s\\n' il >> ../.git/config; git x",
    "printf '[alias]\\nx = !ev%s\\n' il > y; cp y ~/.gitconfig; git x",
    "cp bin/evil .git/hooks/post-commit; git commit --allow-empty -m x",
    "git hook run pre-commit",
    "git for-each-repo --config=x.y rebase -x evil HEAD~1",
    // Options that run commands.
    "make -f - <<< $'x:\\n\\tevil'",
    "make -f /dev/stdin <<< $'x:\\n\\tevil'",
    "make -f <(printf 'x:\\n\\tev%s\\n' il)",
    "make --eval='$(shell evil)' x 2> /dev/null",
    "make --eval=$'x:\\n\\tevil' x",
    "MAKEFLAGS='--eval=x:;evil' make x",
    "printf 'x:\\n\\ttrue\\n' | make -f /dev/fd/0 SHELL=evil",
    "tar cf x.tar bin; tar xf x.tar --to-command=evil",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec=evil bin",
    "tar cf x.tar -I evil bin",
    "tar -cIevil -f x.tar bin",
    "tar cf x.tar --use-compress-program=evil bin",
    "tar cf x.tar --use-compress-prog evil bin",
    "TAR_OPTIONS='--checkpoint=1 --checkpoint-action=exec=evil' tar cf /dev/null bin",
    "echo x | split --filter=evil",
    "echo x | split --filter 'sh -c evil'",
    "seq 200000 | sort -S 1k --compress-program=evil",
    "ssh -oProxyCommand=evil host",
    "ssh -o 'ProxyCommand evil' host",
    "ssh -o proxycommand=evil host",
    "scp -S evil a host:b",
    "scp -o ProxyCommand=evil a host:b",
    "sftp -S evil host",
    "sed -n '1e evil' a",
    "sed -ne'1e evil' a",
    "sed -n -e '1e evil' a",
    "sed -l 5 '1e evil' a",
    "sed --line-length 5 '1e evil' a",
    "sed '/[/\\]/!e evil' a",
    "sed 's/x/[/;e evil' a",
    "sed -- '1e evil' a",
    "x=-n; sed \"$x\" '1e evil' a",
    "x=-n; sed $x '1e evil' a",
    "sed 's/[/]/x/;e evil' a",
    "sed 's/x[/;s/y/e evil\n/;e evil' a; sed '1{/[]/]/!e evil\n}' a",
    "sed 'y/abc/a\\/c/;e evil' a",
    "sed '1a\\\nx\ne evil' a",
    "sed '1ax;\ne evil' a",
    "sed '#\ne evil' a",
    "sed 'w out;\ne evil' a",
    "sed '1!bx;:x;e evil' a",
    "sed --e='1e evil' a",
    "sed '1eevil' a",
    "sed '/x;y/!e evil' a",
    "sed '\\%x%!e evil' a",
    "sed '/x/I!e evil' a",
    "sed '/\\//!e evil' a",
    "sed '/[/]/!e evil' a",
    "sed '1!G;e evil' a",
    "sed ':a;e evil' a",
    "sed -f - a <<< '1e evil'",
    "sed --fil=/dev/stdin a <<< '1e evil'",
    "sed -f <(echo 1e evil) a",
    "sed '1s/.*/evil/w out\ne' a",
    "sed -e '1s/.*/evil/' -e 's,^,,e' a",
    "printf 'ev%s\\n' il | sed -n 'wy'; sh y",
    "printf 'ev%s\\n' il | sed -n 'Wy'; sh y",
    "bash -O extglob -c 'cd bin; @(evil)'",
    "split --f=evil a",
    "split --f evil a",
    "make --f=- <<< $'t:\n\tevil'",
    "make --f - <<< $'t:\n\tevil'",
    "make --mak - <<< $'t:\n\tevil'",
    "sed '1s/.*/evil/e' a",
    "sed -e 's|.*|evil|ge' a",
    "zip -q x.zip a -T -TT evil",
    "rsync -e evil a host:b",
    "rg --pre evil a a",
    "install -s --strip-program=evil bin/evil y",
    "man -P evil ls",
    "go build -toolexec evil std",
    "go vet --vettool=evil std",
    "go test -exec evil std",
    "printf '{\"scripts\":{\"t\":\"ev%s\"}}' il > package.json; npm run t",
    "printf '{\"scripts\":{\"preinstall\":\"ev%s\"}}' il > package.json; npm i",
    "printf '{\"scripts\":{\"t\":\"true\"}}' > package.json; npm run t --script-shell=evil",
    "sqlite3 :memory: '.shell evil'",
    "sqlite3 :memory: '.system evil'",
    "vim -es -c ':!evil' -c ':q'",
    "ed -s a <<< '!evil'",
    "gdb -batch -ex 'shell evil'",
    "PAGER=evil MANPAGER=evil man ls",
];

/// Programs of other languages: their text is not read here. docs/control.md says so, and what holds there.
const NOT_HELD: &[&str] = &[
    "python3 -c 'import os; os.system(\"evil\")'",
    "perl -e 'system(\"evil\")'",
    "awk 'BEGIN { system(\"evil\") }'",
    "node -e 'require(\"child_process\").execSync(\"evil\")'",
];

/// A folder with a repository and the program `evil`, which leaves a mark.
fn template() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir_all(bin.join("hooks")).unwrap();
    for name in ["evil", "hooks/pre-commit", "hooks/post-checkout"] {
        program(&bin.join(name), "#!/bin/sh\n: > \"$MARK\"\n");
    }
    let commits = "git init -q -b main; for x in 1 2 3; do echo a$x > a; git add -A; git commit -qm c$x; done; cp bin/hooks/pre-commit .git/hooks/";
    let mut git = Command::new("bash");
    git.args(["-c", commits]).current_dir(folder.path()).env("HOME", folder.path()).env("MARK", "/dev/null");
    for name in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{name}_NAME"), "a").env(format!("GIT_{name}_EMAIL"), "a@b");
    }
    assert!(git.status().unwrap().success());
    folder
}

/// Runs lines, each in a copy of that folder.
fn outcomes(lines: &[String], template: &Path) -> Vec<Outcome> {
    run(lines, &template.join("bin"), &|_| true, &|at| {
        let from = template.join(".");
        assert!(Command::new("cp").arg("-a").arg(from).arg(at).status().unwrap().success());
        fs::write(at.join(".gitconfig"), format!("[x]\ny = {}\n", at.display())).unwrap();
    })
}

/// Lines with what came of them. Some programs start a pager only at a terminal.
fn tried(lines: &[&str]) -> Vec<(String, Outcome)> {
    let template = template();
    let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
    let mut outcomes = outcomes(&lines, template.path());
    let again: Vec<usize> = (0..lines.len()).filter(|at| !outcomes[*at].ran).collect();
    let at_terminal = |at: &usize| {
        format!("cat > line << 'END'\n{}\nEND\nSHELL=/bin/bash script -qec '. ./line' /dev/null", lines[*at])
    };
    let second = self::outcomes(&again.iter().map(at_terminal).collect::<Vec<_>>(), template.path());
    for (at, second) in again.into_iter().zip(second) {
        outcomes[at].ran = second.ran;
        outcomes[at].said += &second.said;
    }
    lines.into_iter().zip(outcomes).collect()
}

fn allowed(line: &str, rule: &str) -> bool {
    let facts = CallFacts { commands: vec![line.into()], confined: true, ..call("bash(x)") };
    let modes = [Access::Ask, Access::WorkspaceWrite, Access::Full];
    let policies = [bare(&[rule]), usual(&[rule]), usual(&[rule, "allow bash(*)"])];
    policies.iter().any(|policy| {
        modes.iter().any(|access| verdict_in(policy, *access, ApprovalMode::Yes, &facts).0 == Decision::Allow)
    })
}

#[test]
fn no_way_round_a_denial_is_allowed_even_with_yes() {
    let through: Vec<&str> = WAYS.iter().copied().filter(|line| allowed(line, "deny bash(evil *)")).collect();
    assert!(through.is_empty(), "{} of {} are let through:\n{}", through.len(), WAYS.len(), through.join("\n"));
}

/// Nothing of the policy: mutation testing leaves it out.
#[test]
fn what_is_called_a_way_round_is_one_in_real_bash() {
    let (mut no_way, mut not_here) = (Vec::new(), 0);
    for (line, Outcome { ran, said }) in tried(WAYS) {
        if !ran {
            match said.contains("command not found") || said.contains("not permitted") {
                true => not_here += 1,
                false => no_way.push(format!("{line}: {said}")),
            }
        }
    }
    println!("hardening: ways round a denial: {} of {} run in bash", WAYS.len() - not_here, WAYS.len());
    assert!(no_way.is_empty(), "{} are no ways:\n{}", no_way.len(), no_way.join("\n"));
    assert!(not_here * 5 < WAYS.len(), "{not_here} of {} could not be tried here", WAYS.len());
}

#[test]
fn ordinary_lines_are_not_asked_about_for_somebody_elses_denial() {
    for line in [
        "git status",
        "git -c core.pager=cat log --oneline",
        "git -c user.name=a -c user.email=a@b commit -m x",
        "git --no-pager diff HEAD~1",
        "git clone https://example.org/a.git",
        "git push origin main",
        "git rebase main",
        "git config user.name a",
        "git config --get core.editor",
        "git submodule update --init",
        "git bisect start HEAD v1",
        "for b in a b; do git branch $b; done",
        "GIT_PAGER= git log",
        "make -j4 test",
        "make -f build/Makefile CFLAGS=-O2",
        "MAKEFLAGS=-j4 make",
        "tar czf x.tgz src",
        "tar --exclude=target -cf x.tar .",
        "sort -u a | uniq",
        "split -l 10 a",
        "sed -n '1,5p' a",
        "sed -i 's/one/other/g' a",
        "sed -e '/^#/d' -e 's|a|the|' a",
        "sed -i \"s/$one/$other/\" example.txt",
        "sed s/$one/$other/ example.txt",
        "sed -n -e p -- example.txt",
        "sed -ne p example.txt",
        "sed --quiet --expression=p example.txt",
        "sed --expr p example.txt",
        "sed -f x.sed example.txt",
        "sed -nfx.sed example.txt",
        "sed --file=x.sed example.txt",
        "sed -l 5 p example.txt",
        "sed -nl5 p example.txt",
        "sed --line-length 5 p example.txt",
        "sed -ie p example.txt",
        "sed '$!N;s/a\\ne/e/' a",
        "sed ':e;N;$!be;s/\\n/e/g' a",
        "sed '/e/{n;d}' a",
        "sed '1i\\\ne\n2p' a",
        "sed '1a e;e' a",
        "sed '# e;e' a",
        "sed y/eab/dce/ a",
        "sed 's/[/]/e/' a",
        "sed 's/[^]/e]/e/' a",
        "sed '\\|e|d' a",
        "sed '/x/r example' a",
        "sed 's/a/b/w example' a",
        "sed '1,/e/d;q5' a",
        "sed --sandbox '1e evil' a",
        "ssh -o StrictHostKeyChecking=no host ls",
        "rg -n pattern src",
        ". ./env.sh",
        "source .venv/bin/activate",
        "bash scripts/test.sh",
        "./configure && make",
        "echo x > notes.txt; ./run.sh",
        "echo x > .bashrc; bash a.sh",
        "echo x > .gitconfig",
        "echo x > xrun.sh; ./run.sh",
        "echo x > abrun.sh; ./run.sh",
        "echo x > b && make all b",
        "find . -name run.sh; ./run.sh",
        "cat <<< x; git status; ./run.sh",
        "echo x > .profile; bash --norc a.sh",
        "find . -name '*.rs' -exec wc -l {} +",
        "cargo test --config net.offline=true",
        "sqlite3 a.db 'select * from t'",
        "less a",
        "CC=gcc make",
        "cd scripts && ./build.sh",
        "cd \"$dir\" && ./build.sh",
        "bash scripts/a.sh && sh scripts/b.sh",
        "gcc a.c -o a && ./a",
        "chmod +x run.sh && ./run.sh > \"$log\" 2>&1",
        "cat > x.sh <<'EOF'\necho\nEOF\nchmod +x x.sh",
        "git apply fix.patch && make",
        "patch -p1 < fix.patch && ./configure",
        "tar xf a.tgz && cd a && ./configure && make > log",
        "echo x > build/log && ./build",
        "echo x > Makefile.am && make",
        "patch -p1 <<'E'\nx\nE\n/usr/bin/git status",
        "git pull && make && npm run build",
        "cat > package.json <<'EOF'\n{}\nEOF\nnpm ls",
        "echo x > src/git.rs && git add -A",
        "python3 -m pytest -q",
        "pip3 install -e .",
        "time -p make",
        "env -C sub make",
        "GIT_EDITOR=true git commit --amend",
        "GIT_SEQUENCE_EDITOR=\"sed -i '2s/pick/squash/'\" git rebase -i HEAD~3",
        "EDITOR='code --wait' git commit",
        "apt-get -o Dpkg::Options::=--force-confold install -y jq",
        "dpkg -l",
        "go build -o app ./...",
        "go test -run x -count=1 ./...",
        "sqlite3 a.db <<< 'select 1;'",
        "echo 'select 1' | sqlite3 a.db",
        "diff3 a b c",
        "tar --checkpoint=10 --checkpoint-action=dot -cf x.tar .",
        "make --environment-overrides",
        "OPTIND=1; while getopts ab x; do :; done",
        "RANDOM=7; echo $((RANDOM % 3))",
        "readonly -a list=(a b)",
        "wait -n",
        "echo 'run $(date)'",
        "PS1='> ' bash -c ls",
        "strace -o trace.txt ls",
        "npm test -- --watch=false",
    ] {
        assert!(allowed(line, "deny bash(evil *)"), "{line}");
    }
}

#[test]
fn programs_of_other_languages_are_not_read_and_nobody_says_so() {
    for (line, Outcome { ran, said }) in tried(NOT_HELD) {
        assert!(allowed(&line, "deny bash(evil *)"), "{line}: say in docs/control.md that it is held");
        assert!(ran || said.contains("command not found"), "{line}: {said}");
    }
}
