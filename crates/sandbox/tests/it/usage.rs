use std::process::Command;

#[test]
fn the_launcher_without_a_socket_says_what_it_is() {
    let output = Command::new(env!("CARGO_BIN_EXE_mainpath-launch")).arg("true").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = "mainpath-launch is started by Mainpath itself, which tells it over a socket what to run\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), words);
}
