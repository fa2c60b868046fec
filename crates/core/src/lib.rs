//! The agent as a state machine.
//!
//! ```text
//!  Input ──decide──▶ [Event] ──append──▶ log ──apply──▶ State ──pending──▶ {EffectKey: Effect}
//!    ▲                                                                            │
//!    └─────────────── the caller carries effects out and reports back ────────────┘
//! ```
//!
//! **This crate owns** what an agent does next: which events follow an input ([`Machine::handle`]), what state they make
//! ([`apply()`]), which effects that state obliges the caller to ([`pending()`]), and what the model is shown ([`pack()`]).
//!
//! **Its caller owns** time, ids of traces, randomness, the log, and the carrying out of effects. In particular:
//!
//! 1. Append before act: append the batch that `handle` returns, then [`Machine::commit`]; only then look at
//!    [`Machine::pending`].
//! 2. Reconcile: start `pending − in flight`, cancel `in flight − pending`, and report what happens as inputs.
//! 3. When an append's fate is unknown, drop the machine, read the log again, [`Machine::fold`] it, and offer the input
//!    again: an input that has already happened is refused.
//! 4. After every fold, offer one [`InputKind::Recovered`].
//!
//! Nothing here reads a clock, draws a random number, does I/O, spawns or waits. Time comes with every input. A model's or
//! a tool's failure is data, a wrong input is a [`Refusal`] that changes nothing.

mod action;
mod apply;
mod calls;
mod children;
mod context;
mod conversation;
mod decide;
mod effect;
mod error;
mod goals;
mod input;
mod machine;
mod model;
mod next;
mod pending;
mod report;
mod run;
mod skills;
mod state;

pub use action::{Parsed, TEXT_ISSUER, TurnError, parse as parse_turn, render as render_turn};
pub use apply::apply;
pub use calls::kept::artifact_files;
pub use calls::rate::Window;
pub use calls::reopen::{reopened_text, result_in_words};
pub use calls::table::{Approvals, Call, CallState, Calls, Judged, Question, Reopened, Turn, arguments_in, places_in};
pub use children::{Child, Children};
pub use context::aside::{free_tokens, older};
pub use context::bodies::{message, result_text};
pub use context::compact::{earlier_summary, model_summary, summarise, summary_input, summary_messages, summary_text};
pub use context::cut::expand;
pub use context::demands::{Demands, demands_of, is_demand};
pub use context::estimate::{Estimate, estimate, estimate_parts};
pub use context::excerpt::excerpt;
pub use context::floor::summary_floor;
pub use context::layout::{Layout, LeftOut, Placed, Section, fixed_parts, layout};
pub use context::log::{Bodies, Log};
pub use context::pack::{Item, PACK_VERSION, Packed, Packer, Shown, Under, is_as_signed, pack, said};
pub use context::pins::task;
pub use context::rules::{Asked, Called, Said, Summary, Touched, rule_summary};
pub use context::scale::Scale;
pub use context::sentences::in_brief;
pub use context::shown::{Context, Counting};
pub use conversation::fork::{fork, reached};
pub use conversation::inbox::{Arrival, Inbox};
pub use conversation::name::{LONGEST_NAME, short_name};
pub use conversation::opening::{BetweenRuns, Opening, Rewind};
pub use conversation::queues::{Queued, Queues};
pub use conversation::received::may_receive;
pub use conversation::tree::{Cut, Node, NodeKind, Tree};
pub use effect::{Effect, EffectKey, TimerKey};
pub use error::Refusal;
pub use goals::Goals;
pub use goals::news::Reminders;
pub use goals::reminders::reminder;
pub use goals::stats::{GoalStats, cumulative_stats, own_stats, serves};
pub use goals::view::LEGEND;
pub use input::{Answered, ChildEnded, ChildStarting, Edit, Input, InputKind, Probed, Reply, ReplyCall};
pub use machine::{Draft, Machine};
pub use model::call::ModelCall;
pub use next::next_step;
pub use pending::{answer_due, approval_due, call_time, pending};
pub use report::continuing::{Continuation, FINISH_ANSWER, how_to_continue};
pub use report::helps::{Help, lacking, tool_of, what_helps};
pub use report::{Ending, degraded_answer, ending, status};
pub use run::Run;
pub use run::progress::Progress;
pub use skills::{SKILLS_A_TURN, SkillRow, Skills};
pub use state::branch::{Branch, Hidden};
pub use state::position::{Counts, Ended, MailCursor, Position};
pub use state::spec::{ModelHead, SpecHead, ToolHead};
pub use state::{State, is_cut_start};

/// The JSON Schema (2020-12) of every public type of this crate that crosses a boundary, by name.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    macro_rules! list {
        ($($name:ident),* $(,)?) => { vec![$((stringify!($name), schemars::schema_for!($name))),*] };
    }
    list![
        Input,
        InputKind,
        Reply,
        Probed,
        Answered,
        Edit,
        TimerKey,
        State,
        Call,
        Calls,
        CallState,
        Run,
        Queues,
        Tree,
        Node,
        Cut,
        Goals,
        Effect,
        EffectKey,
        Packed,
        Item,
        Child,
        Children,
        ChildStarting,
        ChildEnded,
    ]
}
