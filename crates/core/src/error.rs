//! Why an input was refused. A refused input has changed nothing.

use mainpath_types::{CHECK_MESSAGES, CallId, EventKind, LONGEST_MESSAGE, MailId, Millis, Seq, Verdict};

/// Why an input was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The last batch has not been committed.
    #[error("the last batch is not committed yet")]
    Busy,
    /// No spec was ever set.
    #[error("the trace has no spec yet: set one first")]
    NoSpec,
    /// This mailbox entry has been consumed.
    #[error("mailbox entry {0} has been consumed before")]
    MailConsumed(MailId),
    /// No run is going on.
    #[error("no run is going on, or it has ended meanwhile")]
    NotRunning,
    /// A run is going on.
    #[error("it is running already")]
    Running,
    /// The run is already ending.
    #[error("the run is already ending")]
    AlreadyClosing,
    /// Not the request that is being waited for.
    #[error("model request {0} is not being waited for")]
    StaleRequest(u32),
    /// No such call.
    #[error("there is no call {0}")]
    NoSuchCall(CallId),
    /// The call has not started.
    #[error("call {0} has not started")]
    NotStarted(CallId),
    /// The call has ended.
    #[error("call {0} has ended already")]
    AlreadyResolved(CallId),
    /// Another attempt of the call is running.
    #[error("call {0} is in another attempt than {1}")]
    WrongAttempt(CallId, u32),
    /// A call that was denied is denied by a rule now as well.
    #[error("call {0} is now denied by the rule {rule}, which no approval overrides: {reason}", rule = .1.rule, reason = .1.reason)]
    StillDenied(CallId, Box<Verdict>),
    /// The call does not wait for that.
    #[error("call {0} is not waiting for that")]
    NotWaiting(CallId),
    /// The call has no such child, or not any more.
    #[error("call {0} has no child {1} that this could be said of")]
    NoSuchChild(CallId, u16),
    /// The timer's time has not come.
    #[error("that time comes at {0} ms")]
    NotDue(Millis),
    /// No such timer.
    #[error("there is no such timer")]
    NoTimer,
    /// No such message.
    #[error("there is no message {0}")]
    NoSuchMessage(Seq),
    /// The message exists, but not on the main path.
    #[error("message {0} is not on the main path: fork the trace there instead")]
    OffPath(Seq),
    /// The last thing said is a final answer, or nothing was said.
    #[error("nothing to continue; send a message")]
    NothingOpen,
    /// There is nothing before the first message to answer.
    #[error("a rewind to before the first message needs a new message")]
    NothingToAnswer,
    /// A rewind is under way.
    #[error("a rewind is already under way")]
    Rewinding,
    /// The conversation is being cleared.
    #[error("the conversation is being cleared")]
    Clearing,
    /// Nothing has been said since the beginning, or since the last time.
    #[error("there is nothing to clear")]
    NothingToClear,
    /// The message was never on a main path.
    #[error("message {0} belongs to a side branch: take one that is on a main path")]
    OnSideBranch(Seq),
    /// Nothing is left out that could be shown.
    #[error("nothing is left out of the context")]
    NothingCut,
    /// What should be shown again is larger than what the window has free.
    #[error("that has about {0} tokens, and the window has {1} free: ask for less")]
    NoRoom(u64, u64),
    /// Nothing was said that a summary could stand for.
    #[error("there is nothing to summarise yet")]
    NothingToSummarise,
    /// No summary by rules is wanted.
    #[error("no summary is being waited for")]
    NoSummaryWanted,
    /// A side branch is under way.
    #[error("not while a side branch is under way")]
    InBranch,
    /// The skill is loaded already, with the same text.
    #[error("the skill {0} is loaded already")]
    SkillLoaded(String),
    /// The model has selected as many skills in this turn as it may.
    #[error("only {0} skills can be selected in a turn; select it in the next one")]
    SkillsOfTurn(usize),
    /// The loaded skills would take too much of the window.
    #[error("the skill {skill} has about {tokens} tokens, and loaded skills have {left} left in this window")]
    NoRoomForSkill {
        /// The skill.
        skill: String,
        /// Its size.
        tokens: u32,
        /// What is left for skills.
        left: u64,
    },
    /// No hooks are being asked after that turn.
    #[error("no hooks are being asked after turn {0}")]
    NoHooks(u32),
    /// The plan does not allow that.
    #[error("{0}")]
    BadGoal(String),
    /// A mailbox entry that says nothing that could be done.
    #[error("{0}")]
    BadMail(String),
    /// Not a message that can be taken in.
    #[error("an imported message is a user's, or an assistant's that follows one, with a result for each of its calls")]
    BadImport,
    /// The trace has a name; a model does not change it.
    #[error("the trace has a name already")]
    Named,
    /// The agent has no tool to read messages with.
    #[error("this agent cannot read messages of others: it has no {CHECK_MESSAGES}")]
    NoInbox,
    /// A message is longer than one may be.
    #[error("a message has at most {LONGEST_MESSAGE} bytes, and this one has {0}")]
    MessageTooLong(usize),
    /// The message has come before.
    #[error("the message was received before")]
    Received,
    /// Too many messages wait.
    #[error("{0} messages of other agents wait already")]
    InboxFull(usize),
    /// No name.
    #[error("a name has 1 to 80 letters and is one line")]
    BadName,
    /// The input says nothing.
    #[error("the message is empty")]
    Empty,
}

/// The event that an input decides, or why it is refused.
pub(crate) type Decided = Result<EventKind, Refusal>;
