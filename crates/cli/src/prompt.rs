//! Asking the person at the terminal.

use tokio::sync::mpsc;

/// Lines from standard input, read by one thread from the first question on.
#[derive(Default)]
pub struct Lines(Option<mpsc::UnboundedReceiver<String>>);

impl Lines {
    /// The next line; `None` once there are no more.
    pub async fn next(&mut self) -> Option<String> {
        let lines = self.0.get_or_insert_with(|| {
            let (send, receive) = mpsc::unbounded_channel();
            std::thread::spawn(move || {
                for line in std::io::stdin().lines().map_while(Result::ok) {
                    if send.send(line).is_err() {
                        break;
                    }
                }
            });
            receive
        });
        lines.recv().await
    }
}

/// What a person said to a question about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// This once.
    Yes,
    /// This, and calls like it in this trace.
    Trace,
    /// This, and calls like it from now on.
    Always,
    /// This and all that follow in this run.
    All,
    /// Yes, but with other arguments.
    Edit(String),
    /// No, for this reason.
    No(Option<String>),
    /// Decide later: leave the trace parked.
    Later,
    /// Nothing that can be understood.
    Unclear,
}

/// What a line means.
pub fn understand(line: &str) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_ascii_lowercase().as_str() {
        "y" | "yes" => Said::Yes,
        "t" | "trace" => Said::Trace,
        "w" | "always" => Said::Always,
        "a" | "all" => Said::All,
        "e" | "edit" if !rest.trim().is_empty() => Said::Edit(rest.trim().to_string()),
        "n" | "no" => Said::No(Some(rest.trim().to_string()).filter(|reason| !reason.is_empty())),
        "l" | "later" | "q" | "quit" => Said::Later,
        _ => Said::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_understood_and_nothing_else_is_a_yes() {
        let said =
            ["y", " Yes ", "a", "n", "no it is wrong", "later", "", "yess", "ok", "e", "e  ls -l ", "t", "always"]
                .map(understand);
        let reason = Said::No(Some("it is wrong".into()));
        let expected = [
            Said::Yes,
            Said::Yes,
            Said::All,
            Said::No(None),
            reason,
            Said::Later,
            Said::Unclear,
            Said::Unclear,
            Said::Unclear,
            Said::Unclear,
            Said::Edit("ls -l".into()),
            Said::Trace,
            Said::Always,
        ];
        assert_eq!(said, expected);
    }
}
