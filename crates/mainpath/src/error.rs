//! What goes wrong, as one line for people and a stable kind for programs.

use crate::Remedy;
#[cfg(feature = "home")]
use mainpath_index::IndexError;
use mainpath_policy::{PolicyError, RulePlace};
use mainpath_providers::UnknownModel;
use mainpath_runtime::{EraseError, RuntimeError, Unusable};
use mainpath_sessions::{PlaceError, SessionError};
use mainpath_store::{StoreError, cause_of, is_no_room, is_scarce};
use mainpath_types::Decision;
use serde::Serialize;

/// What kind of thing went wrong. Exit codes and problem types are derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// What the caller gave cannot be used.
    Invalid,
    /// There is no key for a model.
    Auth,
    /// There is no such trace.
    NotFound,
    /// Somebody else works on the trace, or it runs already.
    Busy,
    /// A caller's key that was used for another request before.
    Reused,
    /// The disk is full, or nothing may be written.
    ReadOnly,
    /// The process or the machine has run out of open files or memory. Trying again later helps.
    Scarce,
    /// A file of the trace is damaged, or its log is missing or not a file.
    Damaged,
    /// The trace cannot do that as it stands: one that is there already cannot be started, among others.
    Refused,
    /// Anything else: the configuration, a file, the store.
    Failed,
}

/// An error: one line for people, without secrets.
#[derive(Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    field: Option<Field>,
    message: String,
    remedy: Option<Remedy>,
}

/// The field that an error is about.
#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    /// The element, where the field is a list.
    index: Option<usize>,
    /// True if the message begins with the name.
    is_named: bool,
}

impl Field {
    fn new(name: &'static str, is_named: bool) -> Field {
        Field { name, index: None, is_named }
    }
}

/// The line and the kind: so it is printed where a `main` ends with it.
impl std::fmt::Debug for Error {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{} ({:?})", self.message, self.kind)
    }
}

impl Error {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error { kind, field: None, message: message.into(), remedy: None }
    }

    /// What the caller gave cannot be used.
    pub fn invalid(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Invalid, message)
    }

    /// What stands in this field cannot be used: `problem` follows its name.
    pub fn of_field(field: &'static str, problem: impl std::fmt::Display) -> Error {
        Error { field: Some(Field::new(field, true)), ..Error::invalid(format!("{field}{problem}")) }
    }

    /// An invalid value in this field. Unlike [`Error::of_field`], the message does not begin with the field's name.
    pub fn about(field: &'static str, message: impl Into<String>) -> Error {
        Error { field: Some(Field::new(field, false)), ..Error::invalid(message) }
    }

    /// The same error, about this field. An error that names a field already keeps it.
    pub fn in_field(self, field: &'static str) -> Error {
        Error { field: self.field.or(Some(Field::new(field, false))), ..self }
    }

    /// The same error, about this element of its field, counted from 0.
    pub fn at(self, index: usize) -> Error {
        Error { field: self.field.map(|field| Field { index: Some(index), ..field }), ..self }
    }

    /// Adds advice to the error.
    pub(crate) fn with_remedy(self, remedy: impl Into<Option<Remedy>>) -> Error {
        Error { remedy: remedy.into().or(self.remedy), ..self }
    }

    /// The advice for it, if the message does not contain it.
    pub fn remedy(&self) -> Option<&Remedy> {
        self.remedy.as_ref()
    }

    /// An error of the system. Its kind is that of the cause: such as [`ErrorKind::ReadOnly`] if the disk is full.
    pub(crate) fn of_io(cause: &std::io::Error, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::of_io(cause), message)
    }

    /// Something failed.
    pub fn failed(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Failed, message)
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The field that cannot be used, with which the line usually begins: such as `limits.money` or `rules.allow`. A face that has another
    /// name for it puts that before [`Error::problem`].
    pub fn field(&self) -> Option<&'static str> {
        self.field.map(|field| field.name)
    }

    /// The element of the field that cannot be used, counted from 0, where the field is a list and the element is known.
    pub fn index(&self) -> Option<usize> {
        self.field.and_then(|field| field.index)
    }

    /// The line without the name of the field.
    pub fn problem(&self) -> &str {
        let named = self.field.filter(|field| field.is_named);
        named.and_then(|field| self.message.get(field.name.len()..)).unwrap_or(&self.message)
    }

    /// The line for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        let kind = ErrorKind::of_store(&error);
        let remedy = (kind == ErrorKind::NotFound).then_some(Remedy::ListTraces);
        Error::new(kind, error.to_string()).with_remedy(remedy)
    }
}

impl From<RuntimeError> for Error {
    fn from(error: RuntimeError) -> Error {
        match error {
            RuntimeError::Store(error) => error.into(),
            other => Error::new(ErrorKind::of_runtime(&other), other.to_string()),
        }
    }
}

impl ErrorKind {
    fn of_store(error: &StoreError) -> ErrorKind {
        match error {
            StoreError::Held { .. } => ErrorKind::Busy,
            StoreError::NotFound { .. } => ErrorKind::NotFound,
            StoreError::Reused { .. } => ErrorKind::Reused,
            StoreError::Exists { .. } => ErrorKind::Refused,
            StoreError::BadMail { .. } => ErrorKind::Invalid,
            StoreError::LogMissing { .. } | StoreError::NotAFile { .. } | StoreError::Damaged(_) => ErrorKind::Damaged,
            StoreError::Io { source, .. } => ErrorKind::of_io(source),
            error if is_scarce(error.cause()) => ErrorKind::Scarce,
            _ => ErrorKind::Failed,
        }
    }

    fn of_runtime(error: &RuntimeError) -> ErrorKind {
        match error {
            RuntimeError::Store(error) => ErrorKind::of_store(error),
            RuntimeError::Changed(_) | RuntimeError::TakenOver => ErrorKind::Busy,
            RuntimeError::Exists(_)
            | RuntimeError::Refused(_)
            | RuntimeError::Unfinished(_)
            | RuntimeError::Remote(_) => ErrorKind::Refused,
            RuntimeError::Damaged(_) => ErrorKind::Damaged,
            RuntimeError::Unwritable { cause, .. } => ErrorKind::of_cause(*cause),
            RuntimeError::Spec(problem) => ErrorKind::of_unusable(problem),
            RuntimeError::Erase(EraseError::NothingLeft(_)) => ErrorKind::Refused,
            RuntimeError::Erase(EraseError::NoMessage { .. }) => ErrorKind::Invalid,
            RuntimeError::Erase(EraseError::Damaged { .. } | EraseError::Newer(_)) => ErrorKind::Damaged,
            RuntimeError::Erase(EraseError::Copy(error) | EraseError::Partial { error, .. }) => {
                ErrorKind::of_runtime(error)
            }
            RuntimeError::NotAppended(_) | RuntimeError::Mail(_) | RuntimeError::History { .. } => ErrorKind::Failed,
        }
    }

    fn of_unusable(problem: &Unusable) -> ErrorKind {
        if is_scarce(problem.cause()) { ErrorKind::Scarce } else { ErrorKind::Refused }
    }

    fn of_io(error: &std::io::Error) -> ErrorKind {
        match is_no_room(error.kind()) {
            true => ErrorKind::ReadOnly,
            false => ErrorKind::of_cause(cause_of(error)),
        }
    }

    fn of_cause(cause: std::io::ErrorKind) -> ErrorKind {
        match cause {
            cause if is_no_room(cause) => ErrorKind::ReadOnly,
            cause if is_scarce(cause) => ErrorKind::Scarce,
            _ => ErrorKind::Failed,
        }
    }
}

impl From<Unusable> for Error {
    fn from(problem: Unusable) -> Error {
        Error::new(ErrorKind::of_unusable(&problem), problem.to_string())
    }
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Unusable {
        let is_scarce = error.kind == ErrorKind::Scarce;
        let cause = if is_scarce { std::io::ErrorKind::ResourceBusy } else { std::io::ErrorKind::Other };
        Unusable::Rules { source: Box::new(error), cause }
    }
}

impl From<UnknownModel> for Error {
    fn from(error: UnknownModel) -> Error {
        let kind = match &error {
            UnknownModel::NoKey { .. } => ErrorKind::Auth,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Error {
        let kind = match &error {
            SessionError::BadName(_) => ErrorKind::Invalid,
            SessionError::Unknown(_) => ErrorKind::NotFound,
            SessionError::Busy(_) => ErrorKind::Busy,
            SessionError::Exists(_) | SessionError::Nothing => ErrorKind::Refused,
            SessionError::Io { source, .. } => ErrorKind::of_io(source),
            SessionError::Trace(error) => ErrorKind::of_runtime(error),
            SessionError::Store(error) => ErrorKind::of_store(error),
            _ => ErrorKind::Failed,
        };
        Error::new(kind, error.to_string())
    }
}

#[cfg(feature = "home")]
impl From<IndexError> for Error {
    fn from(error: IndexError) -> Error {
        let kind = match &error {
            error if error.is_scarce() => ErrorKind::Scarce,
            error if error.is_full() => ErrorKind::ReadOnly,
            _ => ErrorKind::Failed,
        };
        Error::new(kind, error.to_string())
    }
}

impl From<PolicyError> for Error {
    fn from(error: PolicyError) -> Error {
        let RulePlace::Single { decision, index } = error.place else { return Error::invalid(error.to_string()) };
        let field = match decision {
            Decision::Allow => "rules.allow",
            Decision::Ask => "rules.ask",
            Decision::Deny => "rules.deny",
        };
        Error::of_field(field, format_args!(": {}", error.problem)).at(index)
    }
}

impl From<PlaceError> for Error {
    fn from(error: PlaceError) -> Error {
        Error::failed(error.to_string())
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Error {
        use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let why = match error.kind() {
            StorageFull => "the disk is full",
            FileTooLarge => "files may not grow any more",
            QuotaExceeded => "the disk quota is used up",
            ReadOnlyFilesystem => "the disk is read-only",
            _ if is_scarce(cause_of(&error)) => return Error::new(ErrorKind::Scarce, error.to_string()),
            _ => return Error::failed(error.to_string()),
        };
        Error::new(ErrorKind::ReadOnly, format!("nothing can be written: {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainpath_store::{Damage, Owner};
    use mainpath_types::{Seq, TraceId};

    #[test]
    fn an_error_has_the_kind_of_its_cause() {
        let trace: TraceId = "x".parse().unwrap();
        let held = || StoreError::Held { trace: trace.clone(), by: Owner::Unnamed };
        let damage = || Damage { file: "f".into(), line: 1, problem: "p".into() };
        let partial = |error: RuntimeError| EraseError::Partial {
            trace: trace.clone(),
            error: Box::new(error),
            done: Vec::new(),
        };
        let full = || std::io::Error::from(std::io::ErrorKind::StorageFull);
        let found = [
            RuntimeError::Store(held()).into(),
            RuntimeError::TakenOver.into(),
            RuntimeError::Damaged(damage()).into(),
            RuntimeError::Unfinished(trace.clone()).into(),
            RuntimeError::Remote(trace.clone()).into(),
            RuntimeError::Spec(Unusable::SpecErased).into(),
            RuntimeError::Erase(EraseError::NothingLeft(trace.clone())).into(),
            RuntimeError::Erase(EraseError::NoMessage { trace: trace.clone(), seq: Seq(9), last: 2 }).into(),
            RuntimeError::Erase(EraseError::Damaged { trace: trace.clone(), damage: damage() }).into(),
            RuntimeError::Erase(EraseError::Newer(trace.clone())).into(),
            RuntimeError::Erase(EraseError::Copy(Box::new(held().into()))).into(),
            RuntimeError::Erase(partial(StoreError::NotFound { trace: trace.clone() }.into())).into(),
            SessionError::Store(held()).into(),
            SessionError::Trace(RuntimeError::Unfinished(trace.clone())).into(),
            SessionError::Exists("s".into()).into(),
            SessionError::Nothing.into(),
            SessionError::Busy("s".into()).into(),
            SessionError::Io { doing: "write s".into(), source: full() }.into(),
        ];
        let kinds: Vec<ErrorKind> = found.iter().map(|error: &Error| error.kind()).collect();
        use ErrorKind::*;
        assert_eq!(
            kinds,
            [
                Busy, Busy, Damaged, Refused, Refused, Refused, Refused, Invalid, Damaged, Damaged, Busy, NotFound,
                Busy, Refused, Refused, Refused, Busy, ReadOnly
            ]
        );
        let messages = ["cannot write s: no storage space", "the log is damaged: f, line 1: p"];
        assert_eq!([found[17].message(), found[2].message()], messages);
    }

    #[test]
    fn an_error_keeps_its_field_and_its_problem_is_the_line_without_the_name_that_it_begins_with() {
        let all =
            |error: Error| (error.field(), error.index(), error.problem().to_string(), error.message().to_string());
        let named = || Error::of_field("tools", ": there is no tool x");
        let line = "tools: there is no tool x".to_string();
        assert_eq!(all(named()), (Some("tools"), None, ": there is no tool x".into(), line.clone()));
        assert_eq!(all(named().in_field("model").at(2)), (Some("tools"), Some(2), ": there is no tool x".into(), line));
        let about = Error::about("model", "model x is unknown");
        assert_eq!(all(about), (Some("model"), None, "model x is unknown".into(), "model x is unknown".into()));
        let found = Error::invalid("unknown").in_field("fallback").at(1);
        assert_eq!(all(found), (Some("fallback"), Some(1), "unknown".into(), "unknown".into()));
        assert_eq!(all(Error::failed("no").at(1)), (None, None, "no".into(), "no".into()));
    }
}
