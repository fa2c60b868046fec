//! What a shell would run, line by line: seen, or said to be unclear.

use crate::support::*;
use mainpath_types::Decision::{self, Allow, Ask, Deny};

/// What is decided of a line whose programs are all allowed, but for `evil`.
fn decide(line: &str) -> Decision {
    let programs = [
        "a", "bash", "cat", "cp", "echo", "eval", "gcc", "less", "make", "mysql", "nc", "printf", "psql", "sed",
        "socat", "sort", "tar", "test", "true", ".",
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
    ]);
}

#[test]
fn what_a_shell_is_given_to_read_is_read_here_as_well() {
    all(&[
        ("bash <<EOF\nevil\nEOF", Deny),
        ("bash <<'EOF'\nevil $x\nEOF", Deny),
        ("bash <<EOF\ntrue $x\nEOF", Ask),
        ("bash <<EOF\ntrue a\nEOF", Allow),
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
    let long = "x".repeat(120_000);
    assert_eq!(decide(&format!("bash -c 'echo {long}'")), Allow);
    assert_eq!(decide(&format!("bash -c 'bash -c \"echo {long}\"'")), Ask);
}
