//! Why a form of secrets is invalid, and which texts of a spec must not hold a secret.

/// Why a form of secrets cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadForm {
    /// No kind of secret has this name.
    #[error("there is no kind {kind:?} of secret; there are: {}", known.join(", "))]
    UnknownKind {
        /// The name that was given.
        kind: String,
        /// The names of all kinds.
        known: Vec<&'static str>,
    },
    /// The regular expression is invalid.
    #[error("no regular expression: {cause}")]
    Expression {
        /// The error of the parser.
        cause: String,
    },
    /// The regular expression matches the empty text.
    #[error("an expression that matches the empty text would match everywhere")]
    MatchesEmpty,
    /// The path is invalid.
    #[error("the path {path:?}{problem}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        problem: BadPath,
    },
}

/// What is wrong with a path to configured values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// It does not begin at the root.
    #[error(" must begin with '$'")]
    NoRoot,
    /// Something else is expected at a byte.
    #[error(", byte {at}: expected {wanted}")]
    Expected {
        /// The offset in bytes.
        at: usize,
        /// What may come there.
        wanted: &'static str,
    },
    /// It has no steps.
    #[error(" names everything; name a value, such as $.password")]
    Everything,
    /// It has more steps than this.
    #[error(" has more than {0} steps")]
    TooLong(usize),
}

/// A text of a spec that is recorded unchanged holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretInSpec {
    /// The name of a model or of the workspace.
    #[error(
        "the name of {what} holds a secret ({shown}), and names are recorded: use one without, a key belongs into \
         its variable"
    )]
    Name {
        /// What the name is of.
        what: &'static str,
        /// The name, redacted.
        shown: String,
    },
    /// A rule.
    #[error("a rule holds a secret ({shown}), and rules are recorded: use a pattern without it, such as *")]
    Rule {
        /// The line of the rule, redacted.
        shown: String,
    },
}
