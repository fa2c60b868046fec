// The conversation of one trace, folded from its events. The same events give the same items, live or after a reload: pieces only fill
// the place of an answer or a result until its event comes.
import type { EventData, EventOf, EventType, Part, PlannedCall, RunEvent, ToolOutput } from "../api/events";
import type { FileChange } from "../api/events";
import type { State } from "./states";
import { abandonedState, outcomeState, ranFor, resolutionState } from "./states";

/** What a person sees of an agent that a call has started. */
export interface Child {
  trace: string;
  task: string;
  mode: string;
  state: State;
  answer: string;
  cost: number;
}

export interface Call {
  /** Such as `4.0`. */
  id: string;
  tool: string;
  arguments: string;
  reason: string;
  state: State;
  /** What the rules said, and which. */
  verdict: { decision: string; rule: string; reason: string } | null;
  /** The rule that "always" would add. */
  offer: string | null;
  /** Where its words came from. */
  origins: readonly string[];
  /** The hooks that have changed its arguments. */
  changedBy: readonly string[];
  /** Who decided on it: a person, or a rule that denied it. */
  decidedBy: string | null;
  decidedWhy: string | null;
  /** The event that asked for it, and the one with what came of it. */
  event: number;
  resultEvent: number | null;
  startedAt: string | null;
  elapsed: number | null;
  resolution: string | null;
  cause: string | null;
  output: ToolOutput | null;
  /** What the model was told instead of an output: a problem, a denial, an internal answer. */
  said: string | null;
  changes: readonly FileChange[];
  children: readonly Child[];
  /** What it writes while it runs. */
  live: string;
  notes: readonly string[];
}

interface Base {
  key: string;
  /** The event that it begins with. */
  event: number;
  ts: string;
  turn: number;
  /** Whether a rewind or a clearing has left it. */
  isLeft: boolean;
}

export interface MessageItem extends Base {
  kind: "message";
  /** Its number, once it has joined the conversation. */
  seq: number | null;
  /** The message before it. */
  parent: number | null;
  from: string;
  /** Of what it was imported; empty for what was said here. */
  source: string;
  mode: string;
  parts: readonly Part[];
}

export interface AnswerItem extends Base {
  kind: "answer";
  request: number | null;
  seq: number | null;
  /** The message that it answers. */
  parent: number | null;
  /** The last message of its turn: its own, or the last result. */
  lastSeq: number | null;
  purpose: string | null;
  state: State;
  text: string;
  thinking: string;
  parts: readonly Part[];
  calls: readonly Call[];
  problem: string | null;
  /** Whether the request failed and is made again, and when if not at once. */
  isRetried: boolean;
  retryAt: number | null;
  cost: number;
  usage: EventData["model_response"]["usage"] | null;
  isAbout: boolean;
  elapsed: number | null;
  /** What has come of it so far; null once the whole is there. */
  live: { text: string; thinking: string; calls: readonly { name: string; arguments: string }[] } | null;
}

export interface NoteItem extends Base {
  kind: "note";
  of: RunEvent;
}

export type Item = MessageItem | AnswerItem | NoteItem;

/** Of what a running call writes only the end is kept. */
const MOST_LIVE = 64_000;

/** The events that stand in the conversation as a line of their own. */
const NOTED = new Set<EventType>([
  "run_started", "run_closing", "run_finished", "request_repacked", "files_restored", "spec_changed", "budget_changed", "mail_refused",
  "rewound", "session_cleared", "forked", "omitted", "compacted", "context_cut", "injected", "skill_selected", "tail_cut",
  "message_received", "erased", "late_result", "trace_named",
]);

type Handlers = { [T in EventType]?: (event: EventOf<T>) => void };

export class Conversation {
  private readonly order: string[] = [];
  private readonly byKey = new Map<string, Item>();
  /** The answer to which a message number belongs. */
  private readonly answerOf = new Map<number, string>();
  private readonly queued = new Map<number, string>();
  private head: number | null = null;
  private notes = 0;
  /** The settings of the agent, as JSON. */
  private spec = "";
  /** Whether a run goes on, as far as these events say. */
  isRunning = false;

  items(): Item[] {
    return this.order.flatMap((key) => this.byKey.get(key) ?? []);
  }

  answer(request: number): AnswerItem | undefined {
    const item = this.byKey.get(`r${request}`);
    return item?.kind === "answer" ? item : undefined;
  }

  apply(event: RunEvent): void {
    // The handler of a type takes events of that type: TypeScript cannot see that for a union.
    (this.handlers[event.type] as ((event: RunEvent) => void) | undefined)?.(event);
    if (NOTED.has(event.type) && !this.changesNothing(event)) this.note(event);
  }

  /** A connection was lost or begun: what is still coming comes from its beginning again. */
  missedPieces(): void {
    for (const key of this.order) {
      const item = this.byKey.get(key);
      if (item?.kind !== "answer") continue;
      if (item.live !== null) this.change(item, { live: { text: "", thinking: "", calls: [] } });
    }
  }

  /** Takes over what is in no event: pieces of what is still coming, and questions that are open. */
  adoptPieces(before: Conversation): void {
    for (const key of before.order) {
      const old = before.byKey.get(key);
      const item = this.byKey.get(key);
      if (old?.kind !== "answer" || item?.kind !== "answer") continue;
      const calls = item.calls.map((call) => {
        const known = old.calls.find((one) => one.id === call.id);
        if (known === undefined || call.resolution !== null) return call;
        return { ...call, live: known.live, state: known.state };
      });
      this.change(item, { live: item.live === null ? null : old.live, calls });
    }
  }

  /** A call waits for a person now. */
  waits(call: string): void {
    this.changeCall(call, 0, (one) => (one.resolution === null ? { ...one, state: "waiting" } : one));
  }

  private put(item: Item): void {
    if (!this.byKey.has(item.key)) this.order.push(item.key);
    this.byKey.set(item.key, item);
  }

  private change<T extends Item>(item: T, change: Partial<T>): void {
    this.byKey.set(item.key, { ...item, ...change });
  }

  private base(event: RunEvent, key: string): Base {
    return { key, event: event.id ?? 0, ts: event.ts, turn: event.turn, isLeft: false };
  }

  /** Whether an event sets what was set already. */
  private changesNothing(event: RunEvent): boolean {
    if (event.type !== "spec_changed") return false;
    const before = this.spec;
    this.spec = JSON.stringify(event.data.spec);
    return this.spec === before;
  }

  private note(event: RunEvent): void {
    this.put({ ...this.base(event, `e${event.id}.${this.notes++}`), kind: "note", of: event });
  }

  private empty(event: RunEvent, key: string): AnswerItem {
    return {
      ...this.base(event, key),
      kind: "answer", request: null, seq: null, parent: null, lastSeq: null, purpose: null, state: "running", text: "", thinking: "", parts: [],
      calls: [], problem: null, isRetried: false, retryAt: null, cost: 0, usage: null, isAbout: false, elapsed: null, live: null,
    };
  }

  /** The answer of a request; made where its beginning lies before the loaded events. */
  private answerFor(event: RunEvent, request: number): AnswerItem {
    const known = this.answer(request);
    if (known !== undefined) return known;
    const made = { ...this.empty(event, `r${request}`), request };
    this.put(made);
    return made;
  }

  private changeCall(id: string, event: number, change: (call: Call) => Call): void {
    const seq = Number(id.split(".")[0]);
    const item = this.byKey.get(this.answerOf.get(seq) ?? "");
    if (item?.kind !== "answer") return;
    const calls = item.calls.map((call) => (call.id === id ? change(call) : call));
    if (!item.calls.some((call) => call.id === id)) calls.push(change(newCall(id, event)));
    this.change(item, { calls });
  }

  private noteCall(id: string, event: number, text: string, state?: State): void {
    this.changeCall(id, event, (call) => ({ ...call, state: state ?? call.state, notes: [...call.notes, text] }));
  }

  /** Marks what lies after a message as left. */
  private leave(after: number | null): void {
    for (const key of this.order) {
      const item = this.byKey.get(key);
      if (item === undefined || item.isLeft || item.kind === "note") continue;
      const seq = item.seq ?? item.parent;
      if (seq !== null && (after === null || seq > after)) this.change(item, { isLeft: true });
    }
    this.head = after;
  }

  private message(event: EventOf<"message_queued" | "steer_queued" | "follow_up_queued">): void {
    const key = `q${event.id}`;
    this.queued.set(event.id ?? 0, key);
    const { from, mode, parts } = event.data;
    this.put({ ...this.base(event as RunEvent, key), kind: "message", seq: null, parent: null, from, source: "", mode, parts });
  }

  private sub(event: EventOf<"sub_trace_started">): void {
    const { call, child, task, mode } = event.data;
    this.changeCall(call, event.id ?? 0, (one) => {
      const made: Child = { trace: child, task: task ?? "", mode, state: "running", answer: "", cost: 0 };
      return { ...one, children: [...one.children.filter((known) => known.trace !== child), made] };
    });
  }

  private readonly handlers: Handlers = {
    run_started: () => {
      this.isRunning = true;
    },
    run_finished: () => {
      this.isRunning = false;
    },
    message_queued: (event) => this.message(event),
    steer_queued: (event) => this.message(event),
    follow_up_queued: (event) => this.message(event),
    rewind_requested: (event) => {
      const { by, parts } = event.data;
      // What is said instead joins the conversation after the rewind.
      if (parts === null || parts === undefined || parts.length === 0) return;
      this.queued.set(event.id ?? 0, `q${event.id}`);
      this.put({ ...this.base(event, `q${event.id}`), kind: "message", seq: null, parent: null, from: by, source: "", mode: "message", parts });
    },
    message_joined: (event) => {
      const item = this.byKey.get(this.queued.get(event.data.of) ?? "");
      const parent = this.head;
      this.head = event.data.seq;
      if (item?.kind !== "message") return;
      // It stands where it has joined the conversation, not where it was sent.
      this.order.splice(this.order.indexOf(item.key), 1);
      this.order.push(item.key);
      this.change(item, { seq: event.data.seq, parent, turn: event.turn });
    },
    message_imported: (event) => {
      const { by, parts, role, seq, source } = event.data;
      this.put({ ...this.base(event, `q${event.id}`), kind: "message", seq, parent: this.head, from: source === "" ? by : role, source, mode: "message", parts });
      this.head = seq;
    },
    model_request: (event) => {
      const { request, head, purpose } = event.data;
      const live = { text: "", thinking: "", calls: [] };
      this.put({ ...this.empty(event, `r${request}`), request, parent: head ?? null, purpose: purpose ?? null, live });
    },
    assistant_delta: (event) => this.piece(event, (live) => ({ ...live, text: live.text + event.data.text })),
    thinking_delta: (event) => this.piece(event, (live) => ({ ...live, thinking: live.thinking + event.data.text })),
    arguments_delta: (event) =>
      this.piece(event, (live) => {
        const calls = [...live.calls];
        const known = calls[event.data.index] ?? { name: "", arguments: "" };
        calls[event.data.index] = { name: known.name + (event.data.name ?? ""), arguments: known.arguments + event.data.text };
        return { ...live, calls };
      }),
    model_response: (event) => this.response(event),
    model_failed: (event) => {
      const item = this.answerFor(event, event.data.request);
      const retryAt = event.data.retry_at ?? null;
      this.change(item, {
        live: null,
        state: "failed",
        problem: event.data.error.message,
        isRetried: retryAt !== null || (event.data.remedy ?? null) !== null,
        retryAt,
        cost: item.cost + event.data.cost,
      });
    },
    model_abandoned: (event) => {
      const item = this.answerFor(event, event.data.request);
      this.change(item, { live: null, state: abandonedState(event.data.lost), cost: item.cost + event.data.cost });
    },
    action_planned: (event) => {
      const { call, tool, arguments: text, reason, changed_by: by } = event.data;
      this.changeCall(call, event.id ?? 0, (one) => ({ ...one, tool, arguments: text, reason: reason ?? "", changedBy: by ?? one.changedBy }));
    },
    action_validated: (event) => {
      const { call, verdict } = event.data;
      const state: State = verdict.decision === "deny" ? "denied" : "idle";
      this.changeCall(call, event.id ?? 0, (one) => ({ ...one, verdict, state: one.resolution === null ? state : one.state }));
    },
    approval_required: (event) => this.changeCall(event.data.call, event.id ?? 0, (one) => ({ ...one, state: "waiting" })),
    question_asked: (event) => this.waits(event.data.call),
    approval_granted: (event) => {
      const { call, by, arguments: text, changed_by: changed } = event.data;
      this.changeCall(call, event.id ?? 0, (one) => ({
        ...one,
        state: "idle",
        decidedBy: by,
        arguments: text ?? one.arguments,
        changedBy: changed ?? one.changedBy,
      }));
    },
    approval_denied: (event) => {
      const { call, by, reason } = event.data;
      this.changeCall(call, event.id ?? 0, (one) => ({ ...one, state: "denied", decidedBy: by ?? null, decidedWhy: reason ?? null }));
    },
    action_started: (event) =>
      this.changeCall(event.data.call, event.id ?? 0, (one) => ({ ...one, state: "running", startedAt: event.ts, live: "" })),
    tool_output_delta: (event) =>
      this.changeCall(event.data.call, 0, (one) =>
        one.resolution === null ? { ...one, live: (one.live + event.data.text).slice(-MOST_LIVE) } : one,
      ),
    files_kept: (event) => this.changeCall(event.data.call, event.id ?? 0, (one) => ({ ...one, changes: event.data.changes })),
    observation_recorded: (event) => {
      const { call, resolution, output, elapsed_ms: elapsed, problem, answer, reason, by, cause } = event.data;
      this.changeCall(call, event.id ?? 0, (one) => ({
        ...one,
        state: resolutionState(resolution),
        resolution,
        cause: cause ?? null,
        output: output ?? null,
        said: problem ?? answer ?? null,
        elapsed: elapsed === undefined ? one.elapsed : ranFor(resolution, elapsed),
        decidedBy: by ?? one.decidedBy,
        decidedWhy: reason ?? one.decidedWhy,
        changes: output?.changes ?? one.changes,
        resultEvent: event.id ?? null,
        live: "",
      }));
    },
    call_delayed: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type, "waiting"),
    call_due: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type, "idle"),
    call_retried: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type, "running"),
    call_cancelling: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type),
    call_probing: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type, "unknown"),
    call_reopened: (event) => this.noteCall(event.data.of, event.id ?? 0, event.type),
    resource_loaded: (event) => this.noteCall(event.data.call, event.id ?? 0, event.type),
    sub_trace_started: (event) => this.sub(event),
    sub_trace_completed: (event) => {
      const { call, child, outcome, answer, problem, cost } = event.data;
      this.changeCall(call, event.id ?? 0, (one) => ({
        ...one,
        children: one.children.map((known) =>
          known.trace === child ? { ...known, state: outcomeState(outcome), answer: answer ?? problem ?? "", cost: cost ?? 0 } : known,
        ),
      }));
    },
    turn_finished: (event) => {
      const { seq, results } = event.data;
      this.head = seq + Math.max(0, results - 1);
      const answer = this.order.toReversed().map((key) => this.byKey.get(key)).find((item) => item?.kind === "answer");
      if (answer?.kind === "answer") this.change(answer, { lastSeq: this.head });
    },
    injected: (event) => {
      this.head = event.data.seq;
    },
    rewound: (event) => this.leave(event.data.head ?? null),
    session_cleared: () => this.leave(null),
  };

  private piece(event: RunEvent & { data: { request?: number } }, change: (live: NonNullable<AnswerItem["live"]>) => NonNullable<AnswerItem["live"]>): void {
    const item = this.answer(event.data.request ?? -1);
    if (item?.live) this.change(item, { live: change(item.live) });
  }

  private response(event: EventOf<"model_response">): void {
    const { request, seq, parts, cost, usage, elapsed_ms: elapsed, problem, about, counted, aside } = event.data;
    const item = this.answerFor(event, request);
    this.answerOf.set(seq, item.key);
    if (aside !== true && item.purpose === null) this.head = seq;
    const named = parts.filter((part) => part.type === "tool_call");
    const planned: PlannedCall[] = event.data.calls ?? [];
    const calls = named.map((part, at) => {
      const plan = planned[at];
      return {
        ...newCall(`${seq}.${at}`, event.id ?? 0),
        tool: part.name,
        arguments: part.arguments,
        verdict: plan?.verdict ?? null,
        offer: plan?.offer ?? null,
        origins: plan?.origins ?? [],
        changedBy: plan?.changed_by ?? [],
      };
    });
    this.change(item, {
      seq,
      lastSeq: seq,
      state: problem === undefined ? "ended" : "failed",
      text: texts(parts, "text"),
      thinking: texts(parts, "thinking"),
      parts,
      calls,
      problem: problem ?? null,
      cost: item.cost + cost,
      usage,
      isAbout: about === true || counted === false,
      elapsed,
      live: null,
    });
  }
}

function newCall(id: string, event: number): Call {
  return {
    id, tool: "", arguments: "", reason: "", state: "idle", verdict: null, offer: null, origins: [], changedBy: [], decidedBy: null, decidedWhy: null,
    event, resultEvent: null, startedAt: null, elapsed: null, resolution: null, cause: null, output: null, said: null, changes: [], children: [],
    live: "", notes: [],
  };
}

/** The texts of one kind among parts. */
export function texts(parts: readonly Part[], kind: "text" | "thinking"): string {
  return parts.flatMap((part) => (part.type === kind ? [part.text] : [])).join("\n\n");
}

/** The conversation of events in the order of their numbers. */
export function conversationOf(events: readonly RunEvent[]): Conversation {
  const made = new Conversation();
  for (const event of events) made.apply(event);
  return made;
}
