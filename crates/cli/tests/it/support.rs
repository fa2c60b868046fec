//! A place of its own for every test, and processes that cannot outlive it.

use mainpath_testkit::model_server::{Answer, Behaviour, ModelServer, RecordedRequest, Reply};
use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes this long; what does, hangs.
pub const LONG: Duration = Duration::from_secs(60);

/// The words that start the program with the default handling of a hang-up. `env` replaces itself with the program, so that the
/// process id stays the same.
pub const HEARS_HANGUPS: [&str; 3] = ["env", "--default-signal=HUP", env!("CARGO_BIN_EXE_mainpath")];

/// A home, a workspace and nothing else of the machine but its programs.
pub struct Place {
    dir: TempDir,
    /// The folder in which the agent works.
    pub work: PathBuf,
    /// Mainpath's own folder.
    pub home: PathBuf,
}

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Done {
    /// The exit code; 128 and the number where a signal ended it, as shells say it.
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        // As the program will see it: no symlinks.
        let root = dir.path().canonicalize().unwrap();
        let (work, home) = (root.join("work"), root.join("home"));
        for folder in [&work, &root.join("tmp")] {
            std::fs::create_dir(folder).unwrap();
        }
        Place { dir, work, home }
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// The command, with an environment of its own and nothing on standard input.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainpath"));
        self.surround(&mut command);
        command.args(args);
        command
    }

    /// The command with the default handling of a hang-up, also where the caller of the tests ignores it as `nohup` does.
    pub fn command_that_hears_hangups(&self, args: &[&str]) -> Command {
        let mut command = Command::new(HEARS_HANGUPS[0]);
        self.surround(&mut command);
        command.args(&HEARS_HANGUPS[1..]).args(args);
        command
    }

    /// Gives a command this place's environment.
    pub fn surround(&self, command: &mut Command) {
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.root()).env("TMPDIR", self.root().join("tmp"));
        command.env("MAINPATH_HOME", &self.home).current_dir(&self.work).stdin(Stdio::null());
    }

    /// Runs the command to its end.
    pub fn run(&self, args: &[&str]) -> Done {
        finish(self.command(args), None)
    }

    /// Runs the command to its end, with this on standard input.
    pub fn run_with(&self, args: &[&str], stdin: &[u8]) -> Done {
        finish(self.command(args), Some(stdin))
    }

    /// Runs it and wants success; gives what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let done = self.run(args);
        assert_eq!(done.code, 0, "mainpath {args:?}: {done:#?}");
        done.out
    }

    /// Starts the command; what it prints is read as it comes.
    pub fn start(&self, args: &[&str]) -> Process {
        Process::start(self.command(args))
    }

    /// `run --model SERVER`, then these.
    pub fn start_run(&self, server: &ModelServer, args: &[&str]) -> Process {
        let model = server.model();
        self.start(&[&["run", "--model", model.as_str()], args].concat())
    }

    /// `run --model SERVER`, then these, to the end.
    pub fn run_on(&self, server: &ModelServer, args: &[&str]) -> Done {
        let model = server.model();
        self.run(&[&["run", "--model", model.as_str()], args].concat())
    }

    pub fn config(&self, text: &str) {
        std::fs::create_dir_all(&self.home).unwrap();
        std::fs::write(self.home.join("config.toml"), text).unwrap();
    }

    /// The ids of the traces, sorted.
    pub fn traces(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.home.join("traces")) else { return Vec::new() };
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The one trace that there is.
    pub fn trace(&self) -> String {
        let mut traces = self.traces();
        assert_eq!(traces.len(), 1, "{traces:?}");
        traces.remove(0)
    }

    /// A file of a trace's folder.
    pub fn file(&self, trace: &str, name: &str) -> PathBuf {
        self.home.join("traces").join(trace).join(name)
    }

    pub fn log(&self, trace: &str) -> Vec<u8> {
        std::fs::read(self.file(trace, "events.jsonl")).unwrap_or_default()
    }

    /// The log's whole lines, as JSON.
    pub fn events(&self, trace: &str) -> Vec<Value> {
        let log = String::from_utf8(self.log(trace)).unwrap();
        let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What a file of the workspace holds; nothing if it is not there.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.work.join(name)).unwrap_or_default()
    }

    /// The processes that work in the workspace: tools that run.
    pub fn tools(&self) -> Vec<u32> {
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let here = |pid: &u32| {
            let cwd = std::fs::read_link(format!("/proc/{pid}/cwd"));
            let own = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            // Mainpath itself works here as well; its launcher counts as a tool.
            let program = own.starts_with(env!("CARGO_BIN_EXE_mainpath").as_bytes());
            cwd.is_ok_and(|cwd| cwd == self.work) && is_alive(*pid) && !program
        };
        pids.filter(here).collect()
    }

    /// Waits until no tool runs any more.
    pub fn quiet(&self) {
        wait_until("no tool runs any more", || self.tools().is_empty());
    }
}

/// Whether a process runs, that is, is there and does not just wait to be reaped.
pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Waits for something that must come about.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a command to its end.
pub fn finish(mut command: Command, stdin: Option<&[u8]>) -> Done {
    if stdin.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut process = Process::start(command);
    if let (Some(bytes), Some(mut pipe)) = (stdin, process.child.stdin.take()) {
        // A program that refuses its arguments need not read.
        let _ = pipe.write_all(bytes);
    }
    process.end()
}

/// A process under way. It is killed when this is dropped.
pub struct Process {
    pub child: Child,
    lines: Receiver<String>,
    err: Option<JoinHandle<String>>,
    /// The whole lines of standard output so far, with their line breaks.
    pub seen: Vec<String>,
    gone: bool,
}

impl Process {
    pub fn start(mut command: Command) -> Process {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (send, lines) = channel();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let text = String::from_utf8_lossy(&std::mem::take(&mut line)).into_owned();
                if send.send(text).is_err() {
                    return;
                }
            }
        });
        let mut pipe = child.stderr.take().unwrap();
        let err = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Process { child, lines, err: Some(err), seen: Vec::new(), gone: false }
    }

    pub fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Reads lines until one is wanted. `None` if the output ended before.
    pub fn find(&mut self, mut wanted: impl FnMut(&str) -> bool) -> Option<String> {
        let until = Instant::now() + LONG;
        loop {
            match self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no such line came: {:#?}", self.seen),
            }
        }
    }

    /// Waits for a line with an event of this type.
    pub fn event(&mut self, name: &str) -> Value {
        let line = self.find(|line| parsed(line)["type"] == name);
        parsed(&line.unwrap_or_else(|| panic!("no {name}: {:#?}", self.seen)))
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Kills it as a crash would; gives every line that it had printed whole, and whether it still ran.
    pub fn kill(mut self) -> (Vec<String>, bool) {
        let _ = self.child.kill();
        let killed = self.end().code == 128 + 9;
        let whole = |line: &String| line.ends_with('\n');
        (std::mem::take(&mut self.seen).into_iter().filter(whole).collect(), killed)
    }

    /// Waits for its end.
    pub fn end(&mut self) -> Done {
        let until = Instant::now() + LONG;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                panic!("it does not end: {:#?}\n{}", self.seen, self.err.take().unwrap().join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        self.gone = true;
        self.seen.extend(self.lines.iter());
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let err = self.err.take().map(|thread| thread.join().unwrap()).unwrap_or_default();
        Done { code, out: self.seen.concat(), err }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.gone {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The trace that changed last.
pub fn newest(place: &Place) -> String {
    parsed(place.ok(&["ls", "--json"]).lines().next().unwrap())["trace_id"].as_str().unwrap().into()
}

/// A line as JSON; null if it is none.
pub fn parsed(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or(Value::Null)
}

/// A server whose answer depends only on how many answers the conversation has, so that a lost request is answered alike
/// when it comes again. The last answer stays.
pub fn scripted(answers: Vec<Answer>) -> ModelServer {
    server(move |request| {
        let turn = request.count("assistant").min(answers.len() - 1);
        answers[turn].clone().into()
    })
}

pub fn server(reply: impl Fn(&RecordedRequest) -> Reply + Send + Sync + 'static) -> ModelServer {
    ModelServer::start(Behaviour::new(reply)).unwrap()
}

/// Whether a line of `--json` says a fact that the log holds, rather than a piece of something that is still coming.
pub fn is_durable(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|line| line["id"].is_u64())
}

/// An answer that is one call of bash.
pub fn bash(command: &str) -> Answer {
    Answer::call("bash", json!({ "command": command }))
}

impl Done {
    /// The lines of standard error that the program says in its own name.
    pub fn own_lines(&self) -> Vec<&str> {
        self.err.lines().filter_map(|line| line.strip_prefix("mainpath: ")).collect()
    }

    /// What stands on standard error in the place of an answer, where the run ended before there was one; standard output has
    /// nothing then.
    pub fn report(&self) -> &str {
        let Some(from) = self.err.find("The run ended before a final answer") else { return "" };
        assert_eq!(self.out, "", "only what the model said goes to standard output");
        let report = &self.err[from..];
        report.find("\nmainpath: ").map_or(report, |to| &report[..to])
    }

    /// A failure as it is promised: this code, and one line that holds this.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &str) {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        let lines = self.own_lines();
        assert!(self.code == code && lines.len() == 1 && lines[0].contains(words), "{code}, {words:?}: {self:#?}");
        // Besides it only the trace's name, and what went on until then.
        let known = |line: &&str| {
            ["mainpath: ", "trace ", "■ ", "! ", "→ ", "✓ ", "✗ ", "· ", "  │ "]
                .iter()
                .any(|begin| line.starts_with(begin))
        };
        let others = self.err.replacen(self.report(), "", usize::from(!self.report().is_empty()));
        let other: Vec<&str> = others.lines().filter(|line| !line.is_empty() && !known(line)).collect();
        assert!(other.is_empty(), "{other:?} in {self:#?}");
    }
}

/// A port of 127.0.0.1 that the system gives to nobody else while this lives. Connections are refused while no server of the test
/// listens there: before its start, and again after its end.
pub struct Port {
    _bound: OwnedFd,
    /// `127.0.0.1:port`.
    pub address: String,
}

impl Port {
    /// Reserves a free port.
    pub fn reserve() -> Port {
        let bound = net::socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        // Such a socket that does not listen leaves the address to another one with the same option: every `TcpListener` has it.
        set_socket_reuseaddr(&bound, true).unwrap();
        net::bind(&bound, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = SocketAddr::try_from(net::getsockname(&bound).unwrap()).unwrap();
        Port { _bound: bound, address: address.to_string() }
    }
}

/// Answers every request, given its body, with a body of this type, for as long as the test runs. Gives its `host:port`.
pub fn site(media_type: &'static str, answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut reader = BufReader::new(stream.unwrap());
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok).take_while(|line| !line.is_empty()) {
                let line = line.to_ascii_lowercase();
                length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let body = answer(&String::from_utf8(body).unwrap());
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\nconnection: close\r\ncontent-length: {}",
                body.len()
            );
            let _ = write!(reader.get_mut(), "{head}\r\n\r\n{body}");
        }
    });
    at
}

/// A scripted model that looks into a file, and then writes one that it should not have written.
pub const DEPLOYS: &str = r#"
[[turn]]
text = "First a look."
calls = [{ tool = "read_text_file", args = { path = "plan.md" } }]
usage = { input = 100, output = 10 }
[[turn]]
calls = [{ tool = "write_text_file", args = { path = "deploy.txt", content = "now" } }]
usage = { input = 150, output = 12 }
[[turn]]
final = "Deployed."
usage = { input = 200, output = 5 }
"#;
