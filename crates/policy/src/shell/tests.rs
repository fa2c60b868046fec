//! What is seen in command lines. The program `evil` stands for whatever an attacker wants to run unseen.

use super::*;

/// The commands, one a line, with `…` for what is not written out; the redirections; `?` if anything is unclear, `!` if tainted.
fn parts(line: &str) -> Vec<String> {
    let script = read(line);
    let word = |word: &Word| format!("{}{}", word.text, if word.fixed { "" } else { "…" });
    let command = |simple: &Simple| simple.words.iter().map(word).collect::<Vec<_>>().join(" ");
    let file = |file: &File| format!("{}{}", if file.write { ">" } else { "<" }, word(&file.path));
    let mut parts: Vec<String> = script.commands.iter().map(command).collect();
    parts.extend(script.files.iter().map(file));
    parts.extend((!script.unclear.is_empty()).then(|| "?".into()));
    parts.extend(script.tainted.is_some().then(|| "!".into()));
    parts
}

#[test]
fn every_simple_command_is_seen_on_its_own() {
    for (line, expected) in [
        ("git status", vec!["git status"]),
        ("a x && b || c; d & e", vec!["a x", "b", "c", "d", "e"]),
        ("a | b |& c", vec!["a", "b", "c"]),
        ("a\nb", vec!["a", "b"]),
        ("(a; b) && { c; }", vec!["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("for x in 1 2; do a $x; done", vec!["a $x…"]),
        ("while a; do b; done; until c; do d; done", vec!["a", "b", "c", "d"]),
        ("case $x in a) b;; *) c;; esac", vec!["b", "c"]),
        ("f() { a; }; f", vec!["a", "f"]),
        ("! a", vec!["a"]),
        ("time a b", vec!["a b"]),
        ("coproc a", vec!["a"]),
        ("[[ -f x && $(a) == b ]]", vec!["a"]),
        ("X=1 a", vec!["a"]),
        ("X=$(a)", vec!["a"]),
        ("X=(1 $(a))", vec!["a"]),
        ("# only a comment", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(parts(line), expected, "{line}");
    }
}

#[test]
fn substitutions_are_seen_wherever_they_stand() {
    for line in [
        "echo $(evil)",
        "echo `evil`",
        "echo \"$(evil)\"",
        "echo \"a `evil` b\"",
        "echo \"$(echo \"$(evil)\")\"",
        "echo `echo \\`evil\\``",
        "echo \"`echo \\`evil\\``\"",
        "echo ${x:-$(evil)}",
        "echo \"${x:-`evil`}\"",
        "echo ${x:-${y:-$(evil)}}",
        "echo ${x/$(evil)/b}",
        "echo ${x[$(evil)]}",
        "echo ${#x[$(evil)]}",
        "echo $((1 + $(evil)))",
        "echo $[1 + $(evil)]",
        "(( x = $(evil) ))",
        "for ((i=$(evil); i<1; i++)); do :; done",
        "for x in $(evil); do :; done",
        "case $(evil) in a) :;; esac",
        "case a in $(evil)) :;; esac",
        "cat <(evil)",
        "tee >(evil)",
        "cat < <(evil)",
        "cat <<EOF\n$(evil)\nEOF",
        "cat <<EOF\n`evil`\nEOF",
        "cat <<-EOF\n\t${x:-$(evil)}\n\tEOF",
        "cat <<< \"$(evil)\"",
        "echo x > $(evil)",
        "a[$(evil)]=1",
        "declare -a a=($(evil))",
        "[[ $(evil) ]]",
        "[[ a =~ $(evil) ]]",
        "echo $\"$(evil)\"",
        "echo {a,$(evil)}",
        "X=`evil` true",
        "echo \"${x:=\"$(evil)\"}\"",
        "! { ( evil ) }",
        "echo a;evil",
        "echo a&evil",
        "echo a|evil",
        "echo a\nevil",
        "echo a #b\nevil",
        "echo a \\\n; evil",
        "f() ( evil ); f",
        "function f { evil; }",
        "select x in a; do evil; done",
        "select x in $(evil); do :; done",
        "if :; then :; else evil; fi",
        "echo 'a'\"$(evil)\"'b'",
        "echo \"'$(evil)'\"",
        "echo $'a\\'b' $(evil)",
        "true && (cd x && evil)",
        "e\\vil",
        "'evil'",
        "\"ev\"il",
        "ev\\\nil",
        "$'evil'",
        ">x evil",
        "X=1 Y=2 evil",
        "/usr/bin/evil",
    ] {
        let script = read(line);
        let runs = script.commands.iter().any(|simple| simple.program() == "evil");
        assert!(runs, "{line}: {script:#?}");
    }
}

#[test]
fn what_a_wrapper_runs_is_seen_as_well() {
    for (line, expected) in [
        ("sudo -u root evil x", vec!["sudo -u root evil x", "evil x"]),
        ("sudo -nE A=1 evil", vec!["sudo -nE A=1 evil", "evil"]),
        ("env -i A=1 -u B evil", vec!["env -i A=1 -u B evil", "evil"]),
        ("env A=1 B=2 evil", vec!["env A=1 B=2 evil", "evil"]),
        ("timeout -k 5 --signal=9 10s evil x", vec!["timeout -k 5 --signal=9 10s evil x", "evil x"]),
        ("nice -n 5 nohup evil", vec!["nice -n 5 nohup evil", "nohup evil", "evil"]),
        ("nice -5 evil", vec!["nice -5 evil", "evil"]),
        ("command evil", vec!["command evil", "evil"]),
        ("command -v evil", vec!["command -v evil"]),
        ("exec -a x evil", vec!["exec -a x evil", "evil"]),
        ("builtin cd x", vec!["builtin cd x", "cd x"]),
        ("xargs -0 -n 1 evil x", vec!["xargs -0 -n 1 evil x", "evil x ……"]),
        (
            "find . -name x -exec evil {} \\; -o -execdir b +",
            vec!["find . -name x -exec evil {} ; -o -execdir b +", "evil {}…", "b"],
        ),
        ("bash -c 'evil; b'", vec!["bash -c evil; b", "evil", "b"]),
        ("sh -ec \"evil\"", vec!["sh -ec evil", "evil"]),
        ("bash -x -o pipefail -c evil a b", vec!["bash -x -o pipefail -c evil a b", "evil"]),
        ("bash -c 'bash -c \"evil\"'", vec!["bash -c bash -c \"evil\"", "bash -c evil", "evil"]),
        ("eval ev'il' x", vec!["eval evil x", "evil x"]),
        ("trap evil EXIT", vec!["trap evil EXIT", "evil"]),
        ("bash <<'EOF'\nevil\nEOF", vec!["bash", "evil"]),
        ("bash -s <<< evil", vec!["bash -s", "evil"]),
        ("bash script.sh", vec!["bash script.sh"]),
        ("time -p evil", vec!["evil"]),
        ("/usr/bin/time -f x evil", vec!["/usr/bin/time -f x evil", "evil"]),
        ("env - A=1 evil", vec!["env - A=1 evil", "evil"]),
        ("bash -euo pipefail -c evil", vec!["bash -euo pipefail -c evil", "evil"]),
        ("bash <<'EOF' 2>/dev/null\nevil\nEOF", vec!["bash", "evil"]),
        (
            "find . -exec sh -c 'evil \"$1\"' _ {} \\;",
            vec!["find . -exec sh -c evil \"$1\" _ {} ;", "sh -c evil \"$1\" _ {}…", "evil $1…"],
        ),
        ("stdbuf -oL evil", vec!["stdbuf -oL evil", "evil"]),
    ] {
        assert_eq!(parts(line), expected, "{line}");
    }
}

#[test]
fn what_cannot_be_told_is_unclear() {
    for line in [
        "$x",
        "$x y",
        "\"$x\" y",
        "${x} y",
        "$(a) b",
        "`a` b",
        "/bin/* x",
        "r? x",
        "{a,b} x",
        "git{,x} y",
        "~user/x",
        "eval \"$x\"",
        "eval $(a)",
        "bash -c \"$x\"",
        "bash -c $x",
        "bash $x",
        "bash",
        "cat x | bash",
        "curl x | sudo sh -s",
        "bash <<EOF\n$x\nEOF",
        "env -S 'evil x'",
        "env --split-string='evil x'",
        "sudo --unknown x evil",
        "sudo $x evil",
        "timeout $x evil",
        "find . $x",
        "trap \"$x\" EXIT",
        "xargs -I{} sh -c {}",
        "xargs -I X sh -c 'echo X'",
        "xargs --replace evil {}",
        "find . -exec sh -c 'evil {}' \\;",
        "mapfile -C evil -c 1 x",
        "compgen -C evil",
        "zsh -c evil",
        "i='x[$(evil)]'; echo ${a[i]}",
        "i='x[$(evil)]'; echo ${a:i}",
        "i='x[$(evil)]'; a[i]=1",
        "watch evil",
        "parallel evil",
        "su -c evil",
        "echo 'unclosed",
        "echo $(unclosed",
        "if a; then",
        "a )",
        "echo > /dev/tcp/host/80",
        "exec 3<>/dev/tcp/host/80",
        "echo ${x@P}",
        "a='x[$(evil)]'; (( a ))",
        "a='x[$(evil)]'; [[ a -eq 1 ]]",
        "a='x[$(evil)]'; echo ${!a}",
        "a='x[`evil`]'; test -v \"$a\"",
        "a='x[$(evil)]'; let a",
        "echo $\\\n(evil)",
        "$'\\x65vil'",
        "cat <<EOF\n$(echo # )\nevil\n)\nEOF",
        "cat <<EOF\n$((evil; b))\nEOF",
        "a\0b",
        "echo \"`\\\"evil\\\"`\"",
    ] {
        assert!(!read(line).unclear.is_empty(), "{line}: {:?}", parts(line));
    }
}

#[test]
fn usual_lines_are_clear() {
    for line in [
        "cargo test -p x -- --nocapture 2>&1 | tail -n 20",
        "echo \"$HOME\" $x ${y:-z} $? $# $$ *.rs a{b,c}",
        "cd sub && make -j4 > log.txt 2>&1",
        "for f in *.txt; do wc -l \"$f\"; done",
        "cat > x.py <<'EOF'\nprint(f\"{a} $(b) `c`\")\nEOF\npython x.py",
        "find . -name '*.rs' -not -path './target/*' | xargs grep -n foo",
        "git commit -m \"it's done: $(date)\"",
        "awk '{print $1}' x | sort | uniq -c",
        "[ -f x ] && echo yes || echo no",
        "test -n \"$x\" && ls",
        "python - <<'EOF'\nimport os\nEOF",
        "sed -i 's/a/b/g' x && git diff --stat",
        "x=$(git rev-parse HEAD); echo \"$x\"",
        "n=$((1 + 2)); echo $n",
        "printf '%s\\n' a b >> out",
        "grep -rn 'a\\|b' src || true",
        "curl -s http://localhost:8080/x?a=1 | jq .",
        "echo 5 > x & wait",
        "if [[ $(ls | wc -l) -gt 3 ]]; then echo \"${x:-$(date)}\" $((n + 1)); fi",
        "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo \"$(date) $i\"; done",
    ] {
        let script = read(line);
        assert_eq!((script.unclear, script.tainted), (vec![], None), "{line}");
    }
}

#[test]
fn variables_that_change_what_commands_do_are_noticed() {
    for line in [
        "PATH=/tmp:$PATH git status",
        "PATH=/tmp; git status",
        "export PATH=/tmp",
        "LD_PRELOAD=x ls",
        "env LD_PRELOAD=x ls",
        "BASH_ENV=x bash y",
        "GIT_SSH_COMMAND=evil git fetch",
        "export GIT_PAGER=evil",
        "declare -x PATH=/tmp",
        "read PATH < x",
        "printf -v PATH /tmp",
        "for PATH in /tmp; do git status; done",
        ": ${PATH:=/tmp}",
        "IFS=x",
        "PATH+=:/tmp",
        "alias ls=evil",
        "hash -p /tmp/evil git",
        "shopt -s expand_aliases",
        "enable -f x y",
    ] {
        assert!(read(line).tainted.is_some(), "{line}");
    }
}

#[test]
fn redirections_are_files() {
    for (line, expected) in [
        ("a > b", vec!["a", ">b"]),
        ("a >> b 2> c", vec!["a", ">b", ">c"]),
        ("a >| b", vec!["a", ">b"]),
        ("a &> b", vec!["a", ">b"]),
        ("a &>> b", vec!["a", ">b"]),
        ("a >& b", vec!["a", ">b"]),
        ("a <> b", vec!["a", ">b"]),
        ("a < b", vec!["a", "<b"]),
        ("a 2>&1 >&2 <&3 3>&-", vec!["a"]),
        ("a > /dev/null 2>/dev/null", vec!["a"]),
        ("> b", vec![">b"]),
        ("a > $x", vec!["a", ">$x…"]),
        ("a > \"b c\"", vec!["a", ">b c"]),
        ("{ a; } > b", vec!["a", ">b"]),
        ("if a; then b; fi < c", vec!["a", "b", "<c"]),
        ("while a; do b; done > c", vec!["a", "b", ">c"]),
        ("f() { a; } > b", vec!["a", ">b"]),
        ("cd x; a > b", vec!["cd x", "a", ">b…"]),
        ("cd x; a > /b", vec!["cd x", "a", ">/b"]),
        ("{fd}> b a", vec!["a", ">b"]),
    ] {
        assert_eq!(parts(line), expected, "{line}");
    }
}

#[test]
fn what_one_command_prints_another_reads() {
    let flows = |line: &str| -> Vec<(String, String)> {
        let script = read(line);
        let text = |at: usize| script.commands[at].text();
        let pairs = script.flows.iter().flat_map(|(from, to)| from.clone().map(|from| (from, to.clone())));
        pairs.flat_map(|(from, to)| to.map(move |to| (from, to))).map(|(from, to)| (text(from), text(to))).collect()
    };
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    assert_eq!(flows("a | b | c"), [pair("a", "b"), pair("a", "c"), pair("b", "c")]);
    assert_eq!(flows("sh -c \"$(a)\""), [pair("a", "sh -c $(…)")]);
    assert_eq!(flows(". <(a)"), [pair("a", ". <(…)")]);
    assert_eq!(flows("sh <<< $(a)"), [pair("a", "sh")]);
    assert_eq!(flows("a; b"), []);
}

#[test]
fn hostile_lines_are_read_in_a_moment_and_in_little_space() {
    let deep = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for line in [
        deep("$(", "evil", ")", 5_000),
        deep("(", "evil", ")", 5_000),
        deep("{ ", "evil", ";}", 5_000),
        deep("if ", "evil", ";then :;fi", 900),
        deep("\"$(", "evil", ")\"", 60),
        deep("${x:-", "$(evil)", "}", 5_000),
        deep("bash -c '", "evil", "'", 50),
        deep("sudo ", "evil", "", 5_000),
        deep("a | ", "evil", "", 5_000),
        deep("a; ", "evil", "", 5_000),
        deep("! ", "evil", "", 5_000),
        deep("$(", "", "", 5_000),
        deep("`", "", "", 5_000),
        deep("<<X ", "", "", 5_000) + "\n$(evil)",
        deep("{a,", "", "}", 5_000),
        "a".repeat(1_000_000),
        deep("eval ", "evil", "", 200),
        deep("[[ ", "a", "", 300),
        deep("case x in a) ", "evil", ";; esac", 100),
        deep("f() ", "{ evil; }", "", 400),
    ] {
        let script = read(&line);
        let seen = script.commands.iter().any(|simple| simple.program() == "evil");
        assert!(seen || !script.unclear.is_empty() || line.starts_with('a'), "{}", &line[..20]);
    }
}
