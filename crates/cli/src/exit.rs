//! Exit codes, and errors as one line.

use crate::ui::text::{plain, quoted};
use mainpath::home::hidden;
use mainpath::named_sessions::{PlaceError, SessionError};
use mainpath::runtime::RuntimeError;
use mainpath::store::StoreError;
use mainpath::types::{FinishReason, ModelErrorKind};
use mainpath::{Error, ErrorKind, Logs, Remedy};
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
        Failure { exit, message: advised(message, error.remedy()) }
    }
}

/// Adds the command that helps to a message of the library.
fn advised(line: String, remedy: Option<&Remedy>) -> String {
    match remedy {
        Some(Remedy::SwitchOnTool(tool)) => format!("{line}; to enable it see `mainpath tools {tool}`"),
        Some(Remedy::ListTools) => format!("{line}; `mainpath tools` lists the tools"),
        Some(Remedy::ListTraces) => format!("{line}; `mainpath ls` lists the traces"),
        Some(Remedy::StartTrace) => format!("{line}; start one with `mainpath run \"TASK\"`"),
        Some(Remedy::TrustPreset(name)) => {
            let name = quoted(name);
            format!("{line}; read it with `mainpath agents show {name}`, then `mainpath agents trust {name}`")
        }
        Some(Remedy::SayMore(trace)) => format!("{line}; continue with mainpath run --trace {trace} \"TASK\""),
        Some(Remedy::ForkTrace(trace)) => format!("{line}; to continue from there in a copy: mainpath fork {trace}"),
        Some(Remedy::TrustSuite) => format!("{line}; read it, then add --trust"),
        Some(_) | None => line,
    }
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
        let error = Error::from(error);
        Failure::error(advised(error.message().into(), error.remedy()))
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Failure {
        let error = Error::from(error);
        Failure::error(advised(error.message().into(), error.remedy()))
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
        for (remedy, advice) in [
            (Some(Remedy::ListTraces), "; `mainpath ls` lists the traces"),
            (Some(Remedy::StartTrace), "; start one with `mainpath run \"TASK\"`"),
            (Some(Remedy::SwitchOnTool("web_fetch".into())), "; to enable it see `mainpath tools web_fetch`"),
            (Some(Remedy::ListTools), "; `mainpath tools` lists the tools"),
            (
                Some(Remedy::TrustPreset("my own".into())),
                "; read it with `mainpath agents show 'my own'`, then `mainpath agents trust 'my own'`",
            ),
            (Some(Remedy::TrustSuite), "; read it, then add --trust"),
            (None, ""),
        ] {
            assert_eq!(advised("it is wrong".into(), remedy.as_ref()), format!("it is wrong{advice}"));
        }
    }
}
