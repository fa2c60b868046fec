// The run of the screen: its trace, those of its agents that are opened, its stream, and where it stands.
import { inject, onScopeDispose, provide, ref, shallowReactive, shallowRef, type InjectionKey, type Ref, type ShallowRef } from "vue";
import { api, data, type Schemas } from "../../api/client";
import { isPiece, type AnyEvent, type EventOf } from "../../api/events";
import { asProblem, type ApiProblem } from "../../api/problem";
import { TraceStream, type Connection } from "../../api/stream";
import { LoadedTrace } from "./trace";

/** What `meta.json` has of a trace; the document describes it as an object of anything. */
export interface Meta {
  task?: string | null;
  name?: string | null;
  model?: string | null;
  finish_reason?: string | null;
  error_message?: string | null;
  result_summary?: string | null;
  created_at?: string;
  completed_at?: string | null;
  total_cost_micros?: number;
  total_tokens?: number;
  total_prompt_tokens?: number;
  total_completion_tokens?: number;
  totals_are_estimates?: boolean;
  total_messages?: number;
  last_event_id?: number;
  parent_trace_id?: string | null;
  forked_from?: unknown;
  agent_type?: string | null;
  session?: string | null;
}
export type Detail = Schemas["TraceDetail"] & Meta;
export type Stats = Schemas["Stats"]["runs"];

/** Events after which a run may stand elsewhere. Pieces and the like change nothing of it. */
const TELLING = new Set([
  "run_started", "run_finished", "run_closing", "approval_required", "approval_granted", "approval_denied", "question_asked",
  "observation_recorded", "turn_finished", "plan_created", "plan_updated", "goal_added", "goal_updated", "sub_trace_started",
  "sub_trace_completed", "trace_named", "model_failed", "rewound", "session_cleared", "message_joined",
]);
/** The server is asked about it at most so often, in milliseconds; less often where its answers take long. */
const PAUSE = 400;
/** So long a notice stays at least, in milliseconds. */
const READ = 10_000;
/** A page that is not seen gives its connection back: browsers have few for all tabs of a server. */
const HIDDEN = 20_000;

interface Notice {
  trace: string;
  text: string;
  /** Whether the trace has gone on since. */
  isOver: boolean;
}

export interface Run {
  readonly id: string;
  readonly trace: LoadedTrace;
  readonly detail: ShallowRef<Detail | undefined>;
  readonly stats: ShallowRef<Stats>;
  readonly problem: ShallowRef<ApiProblem | undefined>;
  readonly connection: Ref<Connection>;
  /** What was said last about the run itself, or an agent of it, until its next event, but long enough to be read: it is in no log, and a reload does not see it. */
  readonly notice: ShallowRef<Notice | undefined>;
  /** What waits for people now, in the run and its agents. */
  readonly waiting: { approvals: Schemas["OpenCall"][]; questions: Schemas["OpenQuestion"][] };
  /** The loaded trace of an agent; it is followed from then on. */
  child(id: string): LoadedTrace;
  /** Asks anew where it stands, and loads what could not be loaded. */
  look(): void;
}

const RUN: InjectionKey<Run> = Symbol("run");

export function useRun(): Run {
  const run = inject(RUN);
  if (run === undefined) throw new Error("a part of the run screen stands outside of it");
  return run;
}

export function provideRun(id: string): Run {
  const trace = new LoadedTrace(id);
  const detail = shallowRef<Detail>();
  const stats = shallowRef<Stats>([]);
  const problem = shallowRef<ApiProblem>();
  const connection = ref<Connection>("connecting");
  const notice = shallowRef<Notice>();
  const waiting = shallowReactive<Run["waiting"]>({ approvals: [], questions: [] });
  const children = shallowReactive(new Map<string, LoadedTrace>());
  const gone = new AbortController();
  let stream: TraceStream | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** How long the last question took, in milliseconds. */
  let took = 0;
  let isStale = false;
  let hidden: ReturnType<typeof setTimeout> | undefined;
  /** Until a notice can have been read. */
  let read: ReturnType<typeof setTimeout> | undefined;

  async function ask(): Promise<void> {
    const began = performance.now();
    const params = { params: { path: { id } }, signal: gone.signal };
    try {
      const [now, statistics, approvals, questions] = await Promise.all([
        data(api.GET("/api/traces/{id}", params)),
        data(api.GET("/api/traces/{id}/stats", params)),
        data(api.GET("/api/traces/{id}/approvals", params)),
        data(api.GET("/api/traces/{id}/questions", params)),
      ]);
      detail.value = now as Detail;
      stats.value = statistics.runs;
      waiting.approvals = approvals.approvals;
      waiting.questions = questions.questions;
      const mine = questions.questions.filter((one) => one.trace_id === id).map((one) => one.call);
      if (mine.length > 0) trace.waits(mine);
      problem.value = undefined;
    } catch (thrown) {
      if (!gone.signal.aborted) problem.value = asProblem(thrown);
    }
    took = performance.now() - began;
  }

  function look(): void {
    if (timer !== undefined) {
      isStale = true;
      return;
    }
    timer = setTimeout(async () => {
      isStale = false;
      await ask();
      timer = undefined;
      // What happened while it was asked may be in no answer.
      if (isStale && !gone.signal.aborted) look();
    }, Math.max(PAUSE, 2 * took));
  }

  function say(what: Notice): void {
    clearTimeout(read);
    notice.value = what;
    read = setTimeout(() => {
      read = undefined;
      if (what.isOver) notice.value = undefined;
    }, READ);
  }

  function over(): void {
    if (notice.value !== undefined) notice.value.isOver = true;
    if (read === undefined) notice.value = undefined;
  }

  function follow(after: string): void {
    stream = new TraceStream(id, after, {
      event(event: AnyEvent) {
        if (event.type === "notice") say({ trace: event.trace_id, text: (event as EventOf<"notice">).data.text, isOver: false });
        else if (event.trace_id === notice.value?.trace && !isPiece(event)) over();
        if (event.trace_id === id) trace.receive(event);
        else children.get(event.trace_id)?.receive(event);
        if (TELLING.has(event.type)) look();
      },
      opened() {
        trace.missedPieces();
        children.forEach((child) => child.missedPieces());
        look();
      },
      resync() {
        void trace.openEnd();
        children.forEach((child) => void child.openEnd());
      },
      connection(now, why) {
        connection.value = now;
        if (now === "refused" && why !== undefined) problem.value = why;
      },
    });
  }

  async function open(): Promise<void> {
    // The conversation first: it is what is looked at, and the rest is of the same moment or later.
    await trace.openEnd();
    if (!trace.isLoaded.value || gone.signal.aborted || stream !== undefined) return;
    void ask();
    follow(String(trace.window.head));
  }

  function seen(): void {
    clearTimeout(hidden);
    if (document.hidden) {
      hidden = setTimeout(() => stream?.close(), HIDDEN);
    } else if (stream === undefined) {
      void open();
    } else if (stream.isClosed) {
      follow(stream.place);
    }
  }

  document.addEventListener("visibilitychange", seen);
  onScopeDispose(() => {
    document.removeEventListener("visibilitychange", seen);
    clearTimeout(timer);
    clearTimeout(hidden);
    clearTimeout(read);
    gone.abort();
    stream?.close();
  });
  void open();

  const run: Run = {
    id,
    trace,
    detail,
    stats,
    problem,
    connection,
    notice,
    waiting,
    child(which) {
      let known = children.get(which);
      if (known === undefined) {
        known = new LoadedTrace(which);
        children.set(which, known);
        void known.openEnd();
      }
      return known;
    },
    look() {
      if (stream === undefined) return void open();
      void trace.again();
      look();
    },
  };
  provide(RUN, run);
  return run;
}
