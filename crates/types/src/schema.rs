//! The JSON Schema of every public type.

use crate::*;
use schemars::{Schema, schema_for};

/// Every public type that crosses a boundary, by name, with its JSON Schema (2020-12).
pub fn all() -> Vec<(&'static str, Schema)> {
    macro_rules! list {
        ($($name:ident),* $(,)?) => { vec![$((stringify!($name), schema_for!($name))),*] };
    }
    list![
        Event,
        Left,
        Spec,
        Limits,
        Profile,
        FinishReason,
        Message,
        Part,
        Role,
        Source,
        Effort,
        Signature,
        ToolSpec,
        ToolOutput,
        Artifact,
        FileChange,
        FileState,
        EffectClass,
        Verdict,
        Decision,
        Resolution,
        RequestHead,
        ModelRequest,
        ModelReply,
        ModelError,
        ModelErrorKind,
        Delta,
        StopReason,
        Usage,
        Price,
        Goal,
        GoalOp,
        GoalStatus,
        GoalId,
        Step,
        Terms,
        TraceId,
        TenantId,
        Principal,
        Seq,
        CallId,
        BlobHash,
        ApprovalMode,
        RateLimit,
        Access,
        Confinement,
        FileAccess,
        Origin,
        Protocol,
        TextForm,
        Dialect,
        Fallback,
        InstructionPart,
        BudgetMode,
        Recovery,
    ]
}
