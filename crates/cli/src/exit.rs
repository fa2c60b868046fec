//! Exit codes, and errors as one line.

use crate::ui::text::{plain, quoted};
use mainpath::home::hidden;
use mainpath::named_sessions::{PlaceError, SessionError};
use mainpath::runtime::RuntimeError;
use mainpath::store::StoreError;
use mainpath::types::{FinishReason, ModelErrorKind};
use mainpath::{Error, ErrorKind, Logs};
use std::process::ExitCode;

/// How the program ends. The numbers are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// Something failed.
    Error = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The model's server refused the key, or there is none.
    Auth = 3,
    /// A limit ended the run.
    Limit = 4,
    /// A call waits for an approval.
    ApprovalNeeded = 5,
    /// A rule denies a call (`mainpath policy check`; 5 is for one that is to be asked).
    Denied = 6,
    /// What was signed of a trace does not show that its log is as it was (`mainpath verify --signed`).
    Unproven = 7,
    /// Somebody stopped it, or cleared its conversation.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl Exit {
    /// The code for a run that ended for this reason; `failure` is what the last failed model call met.
    pub fn of(reason: FinishReason, failure: Option<ModelErrorKind>) -> Exit {
        use FinishReason::*;
        match reason {
            Final => Exit::Ok,
            Stopped => Exit::Interrupted,
            MaxTurns | MaxToolCalls | MaxScriptRuns | Timeout | TokenBudget | MoneyBudget | MaxOutput
            | ContextLimit | RepeatedFailure => Exit::Limit,
            ApprovalNeeded => Exit::ApprovalNeeded,
            ModelError if failure == Some(ModelErrorKind::Auth) => Exit::Auth,
            ProtocolError | SchemaError | Denied | ModelError | ToolError | InternalError => Exit::Error,
        }
    }
}

/// A failure with its exit code: one line for people.
#[derive(Debug)]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// The line.
    pub message: String,
}

impl Failure {
    /// A failure that the command line caused.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, message: message.into() }
    }
    /// Any other.
    pub fn error(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Error, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match error.kind() {
            ErrorKind::Invalid => Exit::Usage,
            ErrorKind::Auth => Exit::Auth,
            _ => Exit::Error,
        };
        let flag = error.field().and_then(|field| FLAGS.iter().find(|(known, _)| *known == field));
        let message = flag.map_or_else(|| error.message().into(), |(_, flag)| format!("{flag}{}", error.problem()));
        Failure { exit, message: advised(message) }
    }
}

/// What the library says, with what to do about it by this command.
fn advised(line: String) -> String {
    let off = line.strip_suffix(" is off here").and_then(|before| before.rsplit(' ').next());
    let advice = if let Some(tool) = off {
        format!("to enable it see `mainpath tools {tool}`")
    } else if line.contains("there is no tool ") && line.ends_with("* stands for any letters") {
        "`mainpath tools` lists the tools".into()
    } else if line.starts_with("there is no trace ") && !line.contains(';') {
        "`mainpath ls` lists the traces".into()
    } else if let Some(rest) =
        line.strip_prefix("the preset ").filter(|_| line.contains(" comes with this repository, and "))
    {
        let name = quoted(rest.split(" (").next().unwrap_or_default());
        return format!("{line}; read it with `mainpath agents show {name}`, then `mainpath agents trust {name}`");
    } else if line.starts_with("the suite ") && line.ends_with(" trusted it") {
        "read it, then add --trust".into()
    } else if line == "there are no traces yet" {
        "start one with `mainpath run \"TASK\"`".into()
    } else {
        return line;
    };
    format!("{line}; {advice}")
}

/// The flags that set the fields of the host library.
const FLAGS: [(&str, &str); 10] = [
    ("limits.money", "--max-cost"),
    ("limits.rates", "--rate"),
    ("prompt.file", "--prompt"),
    ("rules.allow", "--allow"),
    ("rules.ask", "--ask"),
    ("rules.breakpoints", "--break"),
    ("rules.deny", "--deny"),
    ("rules.files", "--policy"),
    ("skills", "--skill"),
    ("tools", "--tools"),
];

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        let kind = match failure.exit {
            Exit::Usage => ErrorKind::Invalid,
            Exit::Auth => ErrorKind::Auth,
            _ => ErrorKind::Failed,
        };
        Error::new(kind, failure.message)
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Failure {
        Error::from(error).into()
    }
}

impl From<PlaceError> for Failure {
    fn from(error: PlaceError) -> Failure {
        Error::from(error).into()
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::error(advised(error.to_string()))
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Failure {
        Failure::error(advised(error.to_string()))
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::error(error.to_string())
    }
}

/// The logs for who only looks. What is wrong in the configuration is told, and stops nobody from looking.
pub fn logs() -> Result<Logs, Failure> {
    let passed_over =
        |wrong: &Error| eprintln!("! {}; no agent starts until you fix that", plain(&hidden(wrong.message())));
    Ok(Logs::look(passed_over)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_library_says_gets_the_command_that_helps_and_nothing_else_does() {
        for (line, advice) in [
            ("there is no trace x", "; `mainpath ls` lists the traces"),
            ("there are no traces yet", "; start one with `mainpath run \"TASK\"`"),
            ("--tools: web_fetch is off here", "; to enable it see `mainpath tools web_fetch`"),
            (
                "allowed_tools: there is no tool \"x\"; …, and * stands for any letters",
                "; `mainpath tools` lists the tools",
            ),
            ("there is no tool \"bsh\"; did you mean \"bash\"?", ""),
            ("there is no trace x; `mainpath ls` lists the traces", ""),
            (
                "the preset my own (/w/x.md) comes with this repository, and you have not trusted it",
                "; read it with `mainpath agents show 'my own'`, then `mainpath agents trust 'my own'`",
            ),
            (
                "the suite /w/a.toml starts programs, or gives runs to addresses or models, and you have not trusted it",
                "; read it, then add --trust",
            ),
            ("no space left", ""),
        ] {
            assert_eq!(advised(line.into()), format!("{line}{advice}"));
        }
    }
}
