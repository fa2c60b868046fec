// How each type of event is shown in a line. A type without a renderer is a type error.
import { defineComponent, h, type Component, type PropType } from "vue";
import type { EventOf, EventType, Part, RunEvent } from "../../../api/events";
import { texts } from "../../../model/conversation";
import { duration } from "../../../model/format";
import { abandonedState, outcomeState, ranFor, resolutionState, traceState, type State } from "../../../model/states";
import { headline, visible } from "../../../model/visible";
import StateBadge from "../../../parts/StateBadge.vue";
import { useWord } from "../../../texts/word";
import CallMarks from "../CallMarks.vue";

/** A line: its words, the state that it says, and what marks a call. */
interface Line {
  text: string;
  origins?: readonly string[];
  changedBy?: readonly string[] | undefined;
  state?: State;
  /** What stands beside the state's icon, if not its own word. */
  word?: string;
}

type Word = ReturnType<typeof useWord>;

/** The badge of an event that began something: in the past tense and without colour, as it may be over by now. */
function then(type: EventType, word: Word): Pick<Line, "state" | "word"> {
  return { state: "idle", word: word("run.events.then", type) };
}

function said(parts: readonly Part[] | null | undefined): string {
  return headline(texts(parts ?? [], "text"));
}

function words(...parts: (string | number | null | undefined)[]): string {
  return parts.filter((part) => part !== null && part !== undefined && part !== "").map((part) => visible(String(part))).join(" · ");
}

/** A renderer out of what an event says. */
function line<T extends EventType>(of: (data: EventOf<T>["data"], word: Word) => Line | string): Component {
  return defineComponent({
    props: { event: { type: Object as PropType<RunEvent>, required: true } },
    setup: (props) => {
      const wordOf = useWord();
      return () => {
        const found = of(props.event.data as EventOf<T>["data"], wordOf);
        const { text, state, word, origins, changedBy }: Partial<Line> = typeof found === "string" ? { text: found } : found;
        const badge = state === undefined ? [] : [h(StateBadge, { state, text: word }), " "];
        return h("span", { class: "small" }, [...badge, text ?? "", " ", h(CallMarks, { origins, changedBy })]);
      };
    },
  });
}

const nothing = line(() => "");
const piece = line<"assistant_delta">((data) => headline(data.text));
const queued = line<"message_queued">((data) => words(data.from, data.mode, said(data.parts)));
const changed = line<"budget_changed">((data) => words(...Object.keys(data)));
const plan = line<"plan_created">((data) => words(data["op"] as string, data["mission"] as string, data["text"] as string));
const goal = line<"goal_updated">((data) => words(data.id, data.op, data.description, data.status, data.summary));

export const RENDERERS: Record<EventType, Component> = {
  assistant_delta: piece,
  thinking_delta: piece,
  arguments_delta: piece,
  action_partial: line<"action_partial">((data) => words(data.tool, data.path, data.value)),
  tool_output_delta: line<"tool_output_delta">((data) => words(data.call, headline(data.text))),
  approval_required: line<"approval_required">((data, word) => ({ text: words(data.call, data.tool), ...then("approval_required", word) })),
  question_asked: line<"question_asked">((data, word) => ({ text: words(data.call, data.tool), ...then("question_asked", word) })),
  notice: line<"notice">((data) => headline(data.text)),
  run_started: line<"run_started">((data, word) => ({ text: words(data.run, word("run.note.causes", data.cause)), ...then("run_started", word) })),
  run_closing: line<"run_closing">((data, word) => words(word("common.reason", data.reason), data.by, data.why)),
  run_finished: line<"run_finished">((data, word) => ({ text: words(data.run, word("common.reason", data.reason)), state: traceState("failed", data.reason) })),
  turn_started: nothing,
  turn_finished: line<"turn_finished">((data) => String(data.results)),
  model_request: line<"model_request">((data) => words(data.request, data.purpose)),
  request_repacked: line<"request_repacked">((data) => words(data.reason, data.message)),
  model_response: line<"model_response">((data) => ({
    text: words(said(data.parts), ...(data.calls ?? []).map((call) => call.tool), duration(data.elapsed_ms)),
    origins: [...new Set((data.calls ?? []).flatMap((call) => call.origins ?? []))],
    ...(data.problem === undefined ? {} : { state: "failed" as const }),
  })),
  model_failed: line<"model_failed">((data) => ({ text: words(data.error.kind, data.error.message), state: "failed" })),
  model_abandoned: line<"model_abandoned">((data) => ({ text: words(data.request), state: abandonedState(data.lost) })),
  retry_due: nothing,
  action_planned: line<"action_planned">((data) => ({ text: words(data.call, data.tool, headline(data.arguments)), changedBy: data.changed_by })),
  action_validated: line<"action_validated">((data, word) => ({
    text: words(data.call, data.verdict.rule, data.verdict.reason),
    state: data.verdict.decision === "deny" ? "denied" : data.verdict.decision === "ask" ? "waiting" : "ended",
    word: word("common.decision", data.verdict.decision),
  })),
  action_started: line<"action_started">((data, word) => ({ text: words(data.call, data.attempt > 1 ? data.attempt : ""), ...then("action_started", word) })),
  action_executed: line<"action_executed">((data, word) => {
    const ms = ranFor(data.resolution, data.elapsed_ms);
    return { text: words(data.call, ms === null ? null : duration(ms)), state: resolutionState(data.resolution), word: word("common.resolution", data.resolution) };
  }),
  observation_recorded: line<"observation_recorded">((data, word) => ({
    text: words(data.call, data.problem ?? data.answer ?? said(data.output?.content)),
    state: resolutionState(data.resolution),
    word: word("common.resolution", data.resolution),
  })),
  approval_granted: line<"approval_granted">((data, word) => ({
    text: words(data.call, data.by, data.rule),
    state: "ended",
    word: word("run.events.then", "approval_granted"),
    changedBy: data.changed_by,
  })),
  approval_denied: line<"approval_denied">((data) => ({ text: words(data.call, data.by, data.reason), state: "denied" })),
  call_reopened: line<"call_reopened">((data) => words(data.of)),
  call_delayed: line<"call_delayed">((data, word) => ({ text: words(data.call), ...then("call_delayed", word) })),
  call_due: line<"call_due">((data) => words(data.call)),
  call_retried: line<"call_retried">((data) => words(data.call, data.attempt, data.output.error)),
  call_cancelling: line<"call_cancelling">((data) => words(data.call, data.cause)),
  call_probing: line<"call_probing">((data, word) => ({ text: words(data.call), ...then("call_probing", word) })),
  late_result: line<"late_result">((data) => words(data.call, data.attempt)),
  skill_selected: line<"skill_selected">((data) => words(data.skill, data.by, data.reason)),
  resource_loaded: line<"resource_loaded">((data) => words(data.skill, data.path)),
  files_kept: line<"files_kept">((data) => words(data.call, ...data.changes.slice(0, 5).map((change) => change.path))),
  files_restored: line<"files_restored">((data) => words(data.by, ...data.changes.slice(0, 5).map((change) => change.path))),
  spec_changed: line<"spec_changed">((data) => words(data.by, data.spec["model"] as string)),
  budget_changed: changed,
  message_queued: queued,
  steer_queued: queued,
  follow_up_queued: queued,
  message_joined: line<"message_joined">((data) => words(data.seq)),
  message_imported: line<"message_imported">((data) => words(data.by, data.source, said(data.parts))),
  mail_refused: line<"mail_refused">((data) => ({ text: headline(data.problem), state: "failed" })),
  continue_requested: line<"continue_requested">((data) => words(data.by)),
  rewind_requested: line<"rewind_requested">((data) => words(data.by, data.after, said(data.parts))),
  rewound: line<"rewound">((data) => words(data.head)),
  clear_requested: line<"clear_requested">((data) => words(data.by)),
  session_cleared: line<"session_cleared">((data) => words(data.upto)),
  forked: line<"forked">((data) => words(data.from, data.at, data.by)),
  omitted: nothing,
  branch_opened: line<"branch_opened">((data) => words(data.kind)),
  branch_closed: line<"branch_closed">((data) => words(data.kind)),
  compaction_requested: line<"compaction_requested">((data) => words(data.by, data.hint)),
  compacted: line<"compacted">((data) => headline(data.text ?? "")),
  context_cut: line<"context_cut">((data) => words(data.cause, data.first_kept)),
  calls_recalled: line<"calls_recalled">((data) => words(...data.calls)),
  injected: line<"injected">((data) => headline(data.text)),
  plan_created: plan,
  plan_updated: plan,
  goal_added: goal,
  goal_updated: goal,
  sub_trace_started: line<"sub_trace_started">((data, word) => ({ text: words(word("run.call.modes", data.mode), data.child, data.task), ...then("sub_trace_started", word) })),
  sub_trace_completed: line<"sub_trace_completed">((data, word) => ({
    text: words(data.child, data.answer ?? data.problem),
    state: outcomeState(data.outcome),
    word: word("common.outcome", data.outcome),
  })),
  tail_cut: line<"tail_cut">((data) => words(data.bytes)),
  trace_named: line<"trace_named">((data) => words(data.name, data.by)),
  message_received: line<"message_received">((data) => words(data.from, headline(data.text))),
  question_sent: line<"question_sent">((data, word) => ({
    text: words(data.call, data.to, data.channel, data.problem),
    ...(data.problem ? { state: "failed" as const } : then("question_sent", word)),
  })),
  erased: line<"erased">((data) => words(data.by, data.why, data.left.length)),
};
