// The inbox: asks the server again and again, and sends decisions.
import { onBeforeUnmount, onMounted, ref, shallowRef, type Ref } from "vue";
import { api, data, once, type Schemas } from "../../api/client";
import { asProblem, ApiProblem } from "../../api/problem";
import { listed, merged, type Fate, type OpenCall, type Waiting } from "./waiting";

const EVERY = 2000;
const MOST = 500;

export interface Decision {
  decision: "approve" | "deny";
  arguments?: Record<string, unknown>;
  reason?: string;
  for?: "trace" | "always";
}

type Named = Extract<Fate, { at: number }>["is"];

export interface Inbox {
  all: Ref<Waiting[]>;
  runs: Ref<Map<string, Schemas["ListedTrace"]>>;
  /** The agents that cannot be asked whether they wait. */
  unasked: Ref<readonly Schemas["Unasked"][]>;
  problem: Ref<ApiProblem | undefined>;
  isLoaded: Ref<boolean>;
  refresh(): Promise<void>;
  /** Sends a decision; false where somebody else was first. Throws an `ApiProblem` for every other refusal. */
  decide(one: Waiting, decision: Decision, named: Named): Promise<boolean>;
  answer(one: Waiting, text: string): Promise<boolean>;
  later(key: string): void;
  clear(): void;
}

/** Who has decided, as the log of the run says. */
async function decider(one: Waiting): Promise<Fate> {
  const after = one.kind === "approval" ? String((one.asked.event ?? 1) - 1) : "0";
  const path = { id: one.trace };
  try {
    const page = await data(api.GET("/api/traces/{id}/events", { params: { path, query: { after, limit: 200 } } }));
    for (const event of page.events) {
      const said = event["data"] as { call?: string; by?: string };
      if (said.call !== one.call) continue;
      if (event["type"] === "approval_granted") return { is: "gone", how: "approved", by: said.by ?? "" };
      if (event["type"] === "approval_denied") return { is: "gone", how: "denied", by: said.by ?? "" };
    }
  } catch {
    // Who it was is only told where it can be found out.
  }
  return { is: "gone" };
}

export function useInbox(): Inbox {
  const all = shallowRef<Waiting[]>([]);
  const runs = shallowRef(new Map<string, Schemas["ListedTrace"]>());
  const unasked = shallowRef<readonly Schemas["Unasked"][]>([]);
  const problem = shallowRef<ApiProblem>();
  const isLoaded = ref(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  function fate(key: string, now: Fate): void {
    all.value = all.value.map((one) => (one.key === key ? { ...one, fate: now } : one));
  }

  async function refresh(): Promise<void> {
    try {
      const query = { limit: MOST };
      const [calls, questions, traces] = await Promise.all([
        data(api.GET("/api/approvals", { params: { query } })),
        data(api.GET("/api/questions", { params: { query } })),
        data(api.GET("/api/traces", { params: { query: { limit: MOST, status: "waiting", children: true } } })),
      ]);
      const before = all.value;
      all.value = merged(before, listed(calls.approvals as OpenCall[], questions.questions), Date.now());
      // Both lists name the same ones.
      unasked.value = calls.unasked;
      const known = new Map(runs.value);
      for (const trace of traces.traces) known.set(trace.trace_id, trace);
      runs.value = known;
      problem.value = undefined;
      isLoaded.value = true;
      const gone = all.value.filter((one) => one.fate?.is === "gone" && before.find((old) => old.key === one.key)?.fate === null);
      for (const one of gone) fate(one.key, await decider(one));
    } catch (thrown) {
      problem.value = asProblem(thrown);
    }
  }

  async function tick(): Promise<void> {
    if (!document.hidden) await refresh();
    if (!isOver) timer = setTimeout(() => void tick(), EVERY);
  }

  function shown(): void {
    if (!document.hidden) void refresh();
  }

  onMounted(() => {
    document.addEventListener("visibilitychange", shown);
    void tick();
  });
  onBeforeUnmount(() => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", shown);
  });

  async function sent(one: Waiting, send: () => Promise<unknown>, named: Named): Promise<boolean> {
    try {
      await send();
      fate(one.key, { is: named, at: Date.now() });
      return true;
    } catch (thrown) {
      if (!(thrown instanceof ApiProblem) || thrown.status !== 409) throw thrown;
      fate(one.key, await decider(one));
      return false;
    }
  }

  return {
    all,
    runs,
    unasked,
    problem,
    isLoaded,
    refresh,
    decide(one, decision, named) {
      const params = { path: { id: one.trace, call: one.call }, header: once() };
      // `for` is in the server's next version; the document does not have it yet.
      const body = decision as Schemas["DecideBody"];
      return sent(one, () => data(api.POST("/api/traces/{id}/approvals/{call}", { params, body })), named);
    },
    answer(one, text) {
      const params = { path: { id: one.trace, call: one.call }, header: once() };
      const body = { answer: text };
      return sent(one, () => data(api.POST("/api/traces/{id}/questions/{call}", { params, body })), "answered");
    },
    later(key) {
      all.value = all.value.map((one) => (one.key === key ? { ...one, isLater: true } : one));
    },
    clear() {
      all.value = all.value.filter((one) => one.fate === null);
    },
  };
}
