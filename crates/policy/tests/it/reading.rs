//! What a shell would run, line by line: seen, or said to be unclear.

use crate::support::*;
use mainpath_types::Decision::{self, Allow, Ask, Deny};

/// What is decided of a line whose programs are all allowed, but for `evil`.
fn decide(line: &str) -> Decision {
    let programs = [
        "a",
        "bash",
        "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/git-core/git-rebase",
        "git-x",
        "apt-get",
        "gdb",
        "go",
        "hg",
        "ld-x",
        "rpm",
        "rustc",
        "svn",
        "jobs",
        "mapfile",
        "nice",
        "trap",
        "xargs",
        "cat",
        "cp",
        "echo",
        "eval",
        "gcc",
        "less",
        "make",
        "mysql",
        "nc",
        "printf",
        "psql",
        "readonly",
        "sed",
        "socat",
        "sort",
        "tar",
        "test",
        "true",
        ".",
    ];
    let mut rules: Vec<String> = programs.iter().map(|program| format!("allow bash({program} *)")).collect();
    rules.extend(["deny bash(evil)".into(), "deny bash(evil *)".into(), "deny write(keep/a.txt)".into()]);
    rules.push("allow write(**)".into());
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    verdict(&bare(&rules), &call(&format!("bash({line})"))).0
}

fn all(cases: &[(&str, Decision)]) {
    for (line, expected) in cases {
        assert_eq!(decide(line), *expected, "{line}");
    }
}

#[test]
fn commands_in_arrays_conditions_and_comments_are_told_apart() {
    all(&[
        ("a=( $(evil) ); true", Deny),
        ("a=( b c ); true", Allow),
        ("[[ ! ( -n $(evil) ) ]]", Deny),
        ("[[ -v 'a[$(evil)]' ]]; true", Deny),
        ("[[ -v 'a[`evil`]' ]]; true", Deny),
        ("[[ -n 'a[b]' ]]; true", Allow),
        ("a['$(evil)']=1 true", Ask),
        ("b='$(evil)' true", Allow),
        // What was evaluated once is so for the whole line.
        ("(( x )); b='$(evil)' true", Ask),
        ("(( x )); readonly b='$(evil)'", Ask),
        ("(( x )); echo '$(evil)' {v}> b", Ask),
        ("readonly a='$(evil)'", Allow),
        ("readonly -a 'q=([$(evil)]=1)'", Ask),
        ("wait -p 'a[$(evil)]'; true", Ask),
        ("wait -n '$(evil)'; true", Allow),
        ("true # evil", Allow),
        ("echo $(echo \\) ; evil)", Deny),
        ("true\nevil\n)", Deny),
        (") evil", Ask),
    ]);
}

#[test]
fn text_that_a_builtin_evaluates_is_told_from_text_that_it_prints() {
    all(&[
        ("printf -v 'a[$(evil)]' x", Ask),
        ("printf -vx '$(evil)'", Ask),
        ("printf x '$(evil)'", Allow),
        ("printf abc '$(evil)'", Allow),
        ("printf -abcd '$(evil)'", Allow),
        ("printf -p '$(evil)'", Allow),
    ]);
}

#[test]
fn what_a_shell_is_given_to_read_is_read_here_as_well() {
    all(&[
        ("bash <<EOF\nevil\nEOF", Deny),
        ("bash <<'EOF'\nevil $x\nEOF", Deny),
        ("bash <<EOF\ntrue $x\nEOF", Ask),
        ("bash <<EOF\ntrue a\nEOF", Allow),
        ("cat <<EOF\na\nEOF", Allow),
        ("cat <<'EOF'\nEOF", Allow),
        ("cat <<EOF\nEOF", Ask),
        ("bash <<< evil > out", Deny),
        ("bash <<< evil 3<<< \"$x\"", Deny),
        ("bash <<< evil <<< \"$x\"", Ask),
        ("bash <<< \"$x\"", Ask),
        ("bash <<< true", Allow),
        (". /dev/stdin <<< evil", Deny),
        (". /dev/fd/3", Ask),
        (". -", Ask),
        (". ./x", Allow),
    ]);
}

#[test]
fn options_that_name_a_program_are_told_from_those_that_do_not() {
    all(&[
        ("sort --compress-program=evil a", Deny),
        ("sort --comp evil a", Deny),
        ("sort --reverse a", Allow),
        ("tar --to-command=evil -xf a", Deny),
        ("tar -I evil -xf a", Deny),
        ("tar -xIf evil a", Ask),
        ("tar cf ITEM.tar a", Allow),
        ("tar -C/Info -xf a", Allow),
        ("make SHELL=b", Ask),
        ("make .SHELLFLAGS=b", Ask),
        ("make --eval=b", Ask),
        ("make -E b", Ask),
        ("make --file=-", Ask),
        ("make -f Makefile all", Allow),
        ("make -f- all", Ask),
        ("make -- all", Allow),
        ("make --debug=- all", Allow),
        ("go test -exec evil ./...", Deny),
        ("go build --toolexec=evil", Deny),
        ("go vet -vettool \"$x\"", Ask),
        ("go build -ldflags -extld=b", Ask),
        ("go build -ldflags=-s", Allow),
        ("apt-get --option=DPkg::Pre-Invoke::=b install a", Ask),
        ("apt-get --opt DPkg::Pre-Invoke::=b install a", Ask),
        ("apt-get -oDPkg::Pre-Invoke::=b install a", Ask),
        ("apt-get -o Acquire::http::Proxy-Auto-Detect=b update", Ask),
        ("apt-get -o Acquire::http::ProxyAutoDetect=b update", Ask),
        ("apt-get -o Acquire::http::Proxy=http://h update", Allow),
        ("apt-get -o \"$x\" update", Ask),
        ("apt-get install -- a", Allow),
        ("apt-get install --=a", Allow),
    ]);
}

#[test]
fn languages_with_a_command_for_a_shell_are_unclear_where_it_is_used() {
    all(&[
        ("sed s/a/b/e a", Ask),
        ("sed 's|a|b|e' a", Ask),
        ("sed s/a/e/ a", Allow),
        ("sed e a", Ask),
        ("sed '/x/e' a", Ask),
        ("sed '/x/,/y/e' a", Ask),
        ("sed '/e/p' a", Allow),
        ("sed -ee a", Ask),
        ("sed --expression=e a", Ask),
        ("sed -n -s p a", Allow),
        ("psql -c '\\! b'", Ask),
        ("psql -c 'select 1'", Allow),
        ("mysql -e 'system b'", Ask),
        ("mysql -e 'select 1'", Allow),
        ("less '+!b' a", Ask),
        ("less a", Allow),
        ("socat EXEC:b -", Ask),
        ("socat - TCP:h:1", Allow),
        ("nc -e b h 1", Ask),
        ("nc h 1", Allow),
        ("gcc -wrapper b a.c", Ask),
        ("gcc a.c", Allow),
        ("rustc -C linker=b a.rs", Ask),
        ("rustc a.rs", Allow),
        ("hg --config alias.x=b log", Ask),
        ("hg log", Allow),
        ("rpm --eval '%(b)'", Ask),
        ("rpm -q a", Allow),
        ("svn --config-option=config:tunnels:x=b ls", Ask),
        ("svn ls", Allow),
        ("less <<< '!b'", Allow),
        ("cp \"$x\" keep", Ask),
        ("cp b keep", Allow),
    ]);
}

#[test]
fn a_line_may_have_so_many_commands_so_much_text_and_be_so_deep() {
    assert_eq!(decide(&"true\n".repeat(500)), Allow);
    assert_eq!(decide(&"true\n".repeat(501)), Ask);
    assert_eq!(decide(&format!("{}true", "eval ".repeat(6))), Allow);
    assert_eq!(decide(&format!("{}true", "eval ".repeat(7))), Ask);
    assert_eq!(decide(&format!("{}true", "nice ".repeat(50))), Allow);
    assert_eq!(decide(&format!("{}true", "nice ".repeat(70))), Ask);
    assert_eq!(decide(&format!("{}true{}", "{ ".repeat(50), "; }".repeat(50))), Allow);
    assert_eq!(decide(&format!("{}true{}", "{ ".repeat(70), "; }".repeat(70))), Ask);
    assert_eq!(decide(&format!("true; {}(( 1 )){}", "{ ".repeat(50), "; }".repeat(50))), Allow);
    assert_eq!(decide(&format!("true; {}(( 1 )){}", "{ ".repeat(70), "; }".repeat(70))), Ask);
    let long = "x".repeat(120_000);
    assert_eq!(decide(&format!("bash -c 'echo {long}'")), Allow);
    assert_eq!(decide(&format!("bash -c 'bash -c \"echo {long}\"'")), Ask);
}

/// What is decided of words that `echo` gets, where one word is denied: denied if it is that word, asked if it may be.
fn word(words: &str) -> Decision {
    let denied = ["evil", "'a\\b'", "ab", "'c\\d'", "'e$f'"].map(|word| format!("deny bash(echo {word})"));
    let rules: Vec<&str> = denied.iter().map(String::as_str).chain(["allow bash(echo *)"]).collect();
    let policy = bare(&rules);
    verdict(&policy, &call(&format!("bash(echo {words})"))).0
}

#[test]
fn a_word_is_known_only_if_no_shell_changes_it() {
    for (words, expected) in [
        ("evil", Deny),
        ("e'vi'l", Deny),
        ("\"ev\"il", Deny),
        ("ev\\il", Deny),
        ("$'evil'", Deny),
        ("$\"evil\"", Deny),
        ("a\\b", Deny),
        ("\"a\\b\"", Deny),
        ("'a\\b'", Deny),
        ("\"a\\$b\"", Allow),
        ("\"c\\d\"", Deny),
        ("\"c\\\\d\"", Deny),
        ("c\\d", Allow),
        ("\"e\\$f\"", Deny),
        ("ev?l", Ask),
        ("e*", Ask),
        ("ev[i]l", Ask),
        ("[a", Allow),
        ("a]", Allow),
        ("'e*'", Allow),
        ("\"ev?l\"", Allow),
        ("e\\*", Allow),
        ("{evil,a}", Ask),
        ("{a..c}", Ask),
        ("e{vil,}", Ask),
        ("{e,}vil", Ask),
        ("{\"evil\",a}", Ask),
        ("{ev\\il,a}", Ask),
        ("{evil,{a,b}}", Ask),
        ("$'e'{vil,x}", Ask),
        ("@(evil)", Ask),
        ("{a}", Allow),
        ("{a,b", Allow),
        ("a,b}", Allow),
        ("'{evil,a}'", Allow),
        ("~", Allow),
        ("~/x", Allow),
        ("~root", Ask),
        ("a=~root", Ask),
        ("a~root", Allow),
        ("'~root'", Allow),
        ("$", Allow),
        ("a$", Allow),
        ("$%", Allow),
        ("\"$'a'\"", Allow),
        ("$x", Ask),
        ("\"$x\"", Ask),
        ("${x}", Ask),
        ("${!x}", Ask),
        ("${#x}", Ask),
        ("$'ev\\x69l'", Deny),
        ("$'\\x61'", Ask),
        ("$'a\\n'", Allow),
        ("$\"$x\"", Ask),
        ("$((1 + 1))", Ask),
    ] {
        assert_eq!(word(words), expected, "{words}");
    }
}

#[test]
fn an_indirection_evaluates_and_what_it_falls_back_on_is_read() {
    all(&[
        ("echo ${!x} 'a[$(evil)]'", Ask),
        ("echo ${x} 'a[$(evil)]'", Allow),
        ("echo $[x] 'a[$(evil)]'", Ask),
        ("echo $[1+1] a", Allow),
        ("echo ${!x:-$(evil)}", Deny),
        ("echo ${x@P}", Ask),
        ("echo ${x:=$(evil)}", Deny),
    ]);
}

#[test]
fn what_starts_other_programs_is_told_by_its_name_and_its_options() {
    all(&[
        ("/lib64/ld-linux-x86-64.so.2 b", Ask),
        ("/usr/lib/git-core/git-rebase b", Ask),
        ("git-x b", Allow),
        ("ld-x b", Allow),
        ("\"$x\"/bash -c evil", Deny),
        ("trap $x", Ask),
        ("gdb --version", Allow),
        ("gdb a", Ask),
        ("trap \"$x\" EXIT", Ask),
        ("trap 'true b' EXIT", Allow),
        ("trap evil EXIT", Deny),
        ("trap evil", Allow),
        ("trap -p evil", Allow),
        ("trap - evil", Allow),
        ("jobs -x evil", Ask),
        ("jobs -l evil", Allow),
        ("mapfile -C evil x", Ask),
        ("mapfile -t x", Allow),
        ("xargs -I% echo % <<< a", Allow),
        ("xargs -I % bash -c % <<< a", Ask),
        ("bash --version evil", Allow),
        ("bash --norc -c evil", Deny),
        ("bash --posix --login -c evil", Deny),
        ("bash -- ./x", Allow),
        ("bash - ./x", Allow),
        ("bash -o pipefail -c evil", Deny),
        ("bash +O extglob -c evil", Deny),
        ("bash --unknown evil", Ask),
        ("bash -Q evil", Ask),
        ("bash - <<< evil", Deny),
        ("bash \"$x\"", Ask),
        ("bash -- \"$x\"", Ask),
        ("bash -c \"$x\"", Ask),
        ("bash -c", Allow),
        ("bash /dev/stdin <<< evil", Deny),
        ("bash /dev/fd/3", Ask),
        ("bash ./x", Allow),
    ]);
}

#[test]
fn a_variable_that_runs_something_is_told_from_one_that_does_not() {
    let policy = bare(&["allow bash", "deny bash(evil)", "deny bash(evil *)"]);
    for (line, expected) in [
        ("PAGER=evil true", Deny),
        ("PAGER= true", Allow),
        ("BASH_ENV= true", Allow),
        ("PAGER=cat true", Allow),
        ("PAGER=\"$x\" true", Ask),
        ("PS4='$(evil)' true", Ask),
        ("PS4=+ true", Allow),
        ("GIT_CONFIG_GLOBAL=/dev/null true", Allow),
        ("GIT_CONFIG_GLOBAL=a true", Ask),
        ("BASH_ENV=a true", Ask),
        ("NAME=evil true", Allow),
    ] {
        assert_eq!(verdict(&policy, &call(&format!("bash({line})"))).0, expected, "{line}");
    }
}
