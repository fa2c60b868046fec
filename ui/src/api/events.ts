// The published events of a run (docs/commands.md, "Events for programs"). The OpenAPI document does not describe them yet, so their names
// are written here; a test holds them to crates/mainpath/src/event/kinds.rs.
import type { Schemas } from "./client";

type Verdict = Schemas["Verdict"];
type Usage = Schemas["Usage"];
type ModelError = Schemas["ModelError"];
type FinishReason = Schemas["FinishReason"];
type ChildMode = Schemas["ChildMode"];
type ChildOutcome = Schemas["ChildOutcome"];

export type Resolution = "ok" | "error" | "denied" | "skipped" | "interrupted" | "unknown";

export type MediaSource =
  | { blob: { hash: string; media_type: string } }
  | { url: { url: string } }
  | { base64: { data: string; media_type: string } };

export type Part =
  | { type: "text"; text: string }
  | { type: "stored_text"; hash: string; bytes: number }
  | { type: "thinking"; text: string }
  | { type: "image"; source: MediaSource }
  | { type: "audio"; source: MediaSource }
  | { type: "document"; source: MediaSource; name?: string | null; pages?: number | null }
  | { type: "tool_call"; name: string; arguments: string }
  | { type: "tool_result"; call: string; name: string; content: Part[]; is_error?: boolean };

export interface ToolOutput {
  content?: Part[];
  error?: string | null;
  title?: string | null;
  notices?: string[];
  command?: { exit_code?: number | null; stdout_bytes: number; stderr_bytes: number } | null;
  changes?: FileChange[];
  artifacts?: { hash: string; media_type: string; name: string; bytes: number }[];
  origin?: string;
}

export type FileState =
  | { is: "absent" }
  | { is: "file"; hash: string; bytes: number; mode: number }
  | { is: "link"; hash: string }
  | { is: "unknown" };

export interface FileChange {
  path: string;
  before: FileState;
  after: FileState;
}

export interface PlannedCall {
  tool?: string | null;
  verdict?: Verdict | null;
  offer?: string | null;
  origins?: string[];
  changed_by?: string[];
  problem?: string | null;
  answer?: string | null;
}

interface Piece {
  request?: number;
  attempt?: number;
}

/** What each event says. Where the UI reads nothing but what `EventData` shows as it is, the fields are not named. */
export interface EventData {
  assistant_delta: Piece & { text: string };
  thinking_delta: Piece & { text: string };
  arguments_delta: Piece & { index: number; name?: string; text: string };
  action_partial: { request?: number; index?: number; tool?: string; path?: string; value?: string };
  tool_output_delta: Piece & { call: string; text: string };
  approval_required: { call: string; tool: string; arguments: string; reason?: string };
  question_asked: { call: string; tool: string; arguments: string };
  run_started: { run: number; cause: string; spec: number };
  run_closing: { reason: FinishReason; by?: string | null; why?: string | null };
  run_finished: {
    run: number;
    reason: FinishReason;
    turns: number;
    calls: number;
    cost: number;
    about?: boolean;
    usage: Usage;
  };
  turn_started: object;
  turn_finished: { seq: number; results: number };
  model_request: { request: number; head?: number | null; input: number; purpose?: string | null };
  request_repacked: { reason: string; message: string };
  model_response: {
    request: number;
    seq: number;
    parts: Part[];
    calls?: PlannedCall[];
    cost: number;
    about?: boolean;
    counted?: boolean;
    elapsed_ms: number;
    usage: Usage;
    stop?: string;
    problem?: string;
    repair_seq?: number;
    aside?: boolean;
  };
  model_failed: { request: number; error: ModelError; retry_at?: number | null; remedy?: string | null; cost: number };
  model_abandoned: { request: number; lost: boolean; cost: number };
  retry_due: object;
  action_planned: { call: string; tool: string; arguments: string; reason?: string; changed_by?: string[] };
  action_validated: { call: string; tool?: string | null; verdict: Verdict };
  action_started: { call: string; attempt: number; rule: string };
  action_executed: { call: string; attempt: number; resolution: Resolution; elapsed_ms: number; result: object };
  observation_recorded: {
    call: string;
    resolution: Resolution;
    attempt?: number;
    by?: string | null;
    cause?: string;
    reason?: string | null;
    elapsed_ms?: number;
    output?: ToolOutput | null;
    problem?: string;
    answer?: string;
  };
  approval_granted: { call: string; by: string; rule?: string | null; arguments?: string | null; changed_by?: string[] };
  approval_denied: { call: string; by?: string | null; reason?: string | null };
  call_reopened: { of: string; grant: number; seq: number };
  call_delayed: { call: string; until: number };
  call_due: { call: string };
  call_retried: { call: string; attempt: number; output: ToolOutput };
  call_cancelling: { call: string; cause: string };
  call_probing: { call: string };
  late_result: { call: string; attempt: number; output: ToolOutput };
  skill_selected: { skill: string; by: string; reason: string; source: string; tokens: number };
  resource_loaded: { call: string; skill: string; path: string };
  files_kept: { call: string; attempt: number; changes: FileChange[] };
  files_restored: { by: string; changes: FileChange[]; to: number };
  spec_changed: { by?: string | null; spec: Record<string, unknown> };
  budget_changed: Record<string, unknown>;
  message_queued: { from: string; mode: string; parts: Part[]; tokens: number };
  steer_queued: { from: string; mode: string; parts: Part[]; tokens: number };
  follow_up_queued: { from: string; mode: string; parts: Part[]; tokens: number };
  message_joined: { of: number; seq: number };
  message_imported: { by: string; parts: Part[]; role: string; seq: number; source: string };
  mail_refused: { problem: string };
  continue_requested: { by: string };
  rewind_requested: { after: number; by: string; parts?: Part[] | null };
  rewound: { asked: number; head?: number | null };
  clear_requested: { by: string };
  session_cleared: { upto: number };
  forked: { from: string; at: number; event: number; by: string };
  omitted: object;
  branch_opened: { kind: string; seq?: number };
  branch_closed: { kind: string; done: boolean };
  compaction_requested: { by: string; hint?: string | null };
  compacted: { seq: number; text?: string | null; tokens: number; first_kept?: number | null };
  context_cut: { seq: number; cause: string; first_kept?: number | null };
  calls_recalled: { calls: string[] };
  injected: { seq: number; text: string; tokens: number };
  plan_created: Record<string, unknown>;
  plan_updated: Record<string, unknown>;
  goal_added: { op: string; id?: number | null; description?: string | null };
  goal_updated: { op: string; id?: number | null; description?: string | null; status?: string | null; summary?: string | null };
  sub_trace_started: { call: string; child: string; mode: ChildMode; nth: number; of: number; task?: string };
  sub_trace_completed: {
    call: string;
    child?: string | null;
    nth: number;
    of: number;
    outcome: ChildOutcome;
    answer?: string;
    problem?: string | null;
    cost?: number;
  };
  tail_cut: { bytes: number; kept: string };
  trace_named: { name: string; by: string };
  message_received: { from: string; text: string; conversation?: string | null };
  question_sent: { call: string; to: string; channel?: string | null; problem?: string | null };
  erased: { by: string; why?: string | null; left: { event: number }[] };
}

export type EventType = keyof EventData;

/** The stamp that every event bears. */
export interface Stamp {
  ts: string;
  trace_id: string;
  run_id: string;
  turn: number;
  /** The number in the log; absent for pieces of what is still coming. */
  id?: number;
  /** From where a stream goes on after it. */
  cursor?: string;
  mail?: number;
}

export type EventOf<T extends EventType> = Stamp & { type: T; data: EventData[T] };

/** An event of this version. */
export type RunEvent = { [T in EventType]: EventOf<T> }[EventType];

/** An event as it came: a newer server may send types that this page does not know. */
export type AnyEvent = Stamp & { type: string; data: unknown };

/** The events that are in no log: a reload does not see them. */
export function isPiece(event: { id?: number | undefined }): boolean {
  return event.id === undefined;
}
