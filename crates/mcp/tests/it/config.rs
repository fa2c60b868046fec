//! Which servers there are, and whom the person trusts.

use mainpath_mcp::{Configured, McpConfig, Servers, Trust};
use std::path::Path;

fn read(folder: &Path, config: &str) -> Result<Servers, String> {
    let config: McpConfig = toml::from_str(config).map_err(|error| error.message().to_string())?;
    Servers::read(&config, Path::new("/c/config.toml"), folder, None).map_err(|error| error.to_string())
}

fn workspace(json: &str) -> (tempfile::TempDir, Servers) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".mcp.json"), json).unwrap();
    let servers = read(folder.path(), "").unwrap();
    (folder, servers)
}

fn names(servers: &Servers) -> Vec<(&str, bool)> {
    servers.servers.iter().map(|server| (server.name.as_str(), server.foreign)).collect()
}

#[test]
fn a_file_as_others_write_it_is_read() {
    let (_folder, servers) = workspace(
        r#"{"mcpServers": {
            "local": {"type": "stdio", "command": "npx", "args": ["-y", "a"], "env": {"K": "${K}"}},
            "far": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${T}"}}
        }, "other": 1}"#,
    );
    assert_eq!((names(&servers), servers.warnings.len()), (vec![("far", true), ("local", true)], 0));
    assert_eq!(servers.servers[1].entry.args, ["-y", "a"]);
    assert_eq!(servers.servers[1].prefix(), "mcp__local__");
}

#[test]
fn a_broken_file_of_a_workspace_is_told_and_stops_nothing() {
    for (json, wanted) in [
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("{}", "there is no \"mcpServers\" in it"),
        (r#"{"mcpServers": 1}"#, "\"mcpServers\" is not an object"),
        (r#"{"mcpServers": {"a": 1}}"#, "mcpServers.a is not an object"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#,
            "mcpServers.a.args: invalid type: string \"y\", expected a sequence",
        ),
        (r#"{"mcpServers": {"a": {}}}"#, "the MCP server \"a\": it needs a command or a url"),
        (
            r#"{"mcpServers": {"a": {"type": "sse", "url": "http://h"}}}"#,
            "the MCP server \"a\": the type sse is the old transport of 2024, which is not supported; use http",
        ),
    ] {
        let (folder, servers) = workspace(json);
        let file = folder.path().join(".mcp.json");
        assert_eq!(servers.warnings, [format!("{}: {wanted}", file.display())], "{json}");
        assert!(servers.servers.is_empty());
    }
    let (folder, servers) = workspace(r#"{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}"#);
    let file = folder.path().join(".mcp.json").display().to_string();
    assert_eq!(servers.warnings, [format!("{file}: mcpServers.a: the field \"autoApprove\" is not known here")]);
    assert_eq!(names(&servers), [("a", true)]);
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.json");
    std::fs::write(&own, r#"{"mcpServers": {"a": {"comand": "x"}}}"#).unwrap();
    let wrong = Servers::read(&McpConfig::default(), Path::new("/c/config.toml"), folder.path(), Some(&own));
    let file = own.display();
    assert_eq!(
        wrong.unwrap_err().to_string(),
        format!(
            "{file}: the MCP server \"a\": it needs a command or a url; {file}: mcpServers.a: the field \"comand\" is \
             not known here; did you mean \"command\"?"
        )
    );
}

#[test]
fn the_persons_own_files_are_read_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let bad = |config: &str| read(folder.path(), config).unwrap_err();
    assert!(bad("[servers.a]\ncomand = \"x\"\n").starts_with("unknown field `comand`, expected one of `preset`"));
    let at = "/c/config.toml: the MCP server \"a\": ";
    for (entry, wanted) in [
        ("", "it needs a command or a url"),
        ("command = \"x\"\nurl = \"http://h\"", "it has both a command and a url; use one"),
        ("command = \"\"", "the command is empty"),
        ("command = \"x\"\ntype = \"http\"", "the type http needs a url"),
        ("command = \"x\"\nheaders = { a = \"b\" }", "headers are for servers with a url"),
        ("url = \"http://h\"\nargs = [\"b\"]", "args, env and cwd are for servers with a command"),
        ("command = \"x\"\ntimeout_s = 0", "timeout_s must be at least 1"),
        ("preset = \"playwrigt\"", "there is no preset \"playwrigt\"; there are: playwright"),
        (
            "command = \"x\"\nprefix = \"a b\"",
            "the prefix \"a b\" cannot stand before a tool's name: up to 32 letters, digits, _ and -, a letter or _ first",
        ),
    ] {
        assert_eq!(bad(&format!("[servers.a]\n{entry}\n")), format!("{at}{wanted}"), "{entry}");
    }
    let config = McpConfig::default();
    let missing = Servers::read(&config, Path::new("c"), folder.path(), Some(Path::new("/no/such.json"))).unwrap_err();
    assert_eq!(missing.to_string(), "/no/such.json: there is no such file");
}

#[test]
fn of_two_entries_with_one_name_the_persons_own_counts() {
    let (folder, _) = workspace(r#"{"mcpServers": {"a": {"command": "theirs"}, "b": {"command": "theirs"}}}"#);
    let run = folder.path().join("run.json");
    std::fs::write(&run, r#"{"mcpServers": {"a": {"command": "run"}}}"#).unwrap();
    let config: McpConfig = toml::from_str("[servers.a]\ncommand = \"own\"\n[servers.c]\ncommand = \"own\"\n").unwrap();
    let servers = Servers::read(&config, Path::new("c"), folder.path(), Some(&run)).unwrap();
    let command = |server: &Configured| (server.name.clone(), server.entry.command.clone().unwrap(), server.foreign);
    let found: Vec<_> = servers.servers.iter().map(command).collect();
    let one = |name: &str, command: &str, foreign| (name.to_string(), command.to_string(), foreign);
    assert_eq!(found, [one("a", "run", false), one("b", "theirs", true), one("c", "own", false)]);
}

#[test]
fn filters_take_and_leave_out_by_the_servers_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[servers.a]\ncommand = \"x\"\nallow = [\"read_*\", \"list\"]\ndeny = [\"*_secret\"]\n";
    let servers = read(folder.path(), config).unwrap();
    let takes = ["read_file", "list", "read_secret", "lists", "write"].map(|tool| servers.servers[0].takes(tool));
    assert_eq!(takes, [true, true, false, false, false]);
}

#[test]
fn a_preset_is_what_the_entry_does_not_say_itself() {
    let folder = tempfile::tempdir().unwrap();
    let servers = read(folder.path(), "[servers.p]\npreset = \"playwright\"\nnetwork = false\n").unwrap();
    let entry = &servers.servers[0].entry;
    assert_eq!((entry.command.as_deref(), entry.network), (Some("npx"), Some(false)));
    assert_eq!(entry.args[..3], ["--yes", "@playwright/mcp@0.0.83", "--headless"]);
    let servers = read(folder.path(), "[servers.p]\npreset = \"playwright\"\nargs = [\"a\"]\n").unwrap();
    let entry = &servers.servers[0].entry;
    assert_eq!((entry.args.as_slice(), entry.network), (["a".to_string()].as_slice(), Some(true)));
}

#[test]
fn only_the_very_entry_that_was_approved_for_the_very_folder_is_trusted() {
    let home = tempfile::tempdir().unwrap();
    let trust = Trust::new(&home.path().join("config"));
    let (folder, servers) = workspace(r#"{"mcpServers": {"a": {"command": "x", "args": ["1"]}}}"#);
    let server = &servers.servers[0];
    assert_eq!(server.described(), "args: [\"1\"]\ncommand: \"x\"\n");
    assert!(!trust.has(folder.path(), server).unwrap());
    trust.add(folder.path(), server).unwrap();
    trust.add(folder.path(), server).unwrap();
    assert!(trust.has(folder.path(), server).unwrap());
    assert!(!trust.has(Path::new("/elsewhere"), server).unwrap());
    let mut changed = server.clone();
    changed.entry.args = vec!["2".into()];
    assert!(!trust.has(folder.path(), &changed).unwrap());
    changed.foreign = false;
    assert!(trust.has(folder.path(), &changed).unwrap());
    std::fs::write(home.path().join("config/mcp-trust.json"), "{").unwrap();
    let broken = trust.has(folder.path(), server).unwrap_err().to_string();
    assert!(broken.ends_with("mcp-trust.json: EOF while parsing an object at line 1 column 1"), "{broken}");
}
