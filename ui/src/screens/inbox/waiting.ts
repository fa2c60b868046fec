// What waits for people, in an order that stays: what is new comes last, and what is decided keeps its place until it is cleared away.
import type { Schemas } from "../../api/client";

/** A call that waits; `offer` are the patterns that "for this trace" and "always" would allow. */
export type OpenCall = Schemas["OpenCall"];
export type OpenQuestion = Schemas["OpenQuestion"];

export type Fate =
  /** Decided on this page, and how. */
  | { is: "approved" | "edited" | "trace" | "always" | "denied" | "answered"; at: number }
  /** Decided elsewhere, or gone with its run. */
  | { is: "gone"; by?: string; how?: "approved" | "denied" };

interface Place {
  key: string;
  trace: string;
  call: string;
  fate: Fate | null;
  /** Whether a person has put it off. */
  isLater: boolean;
}

export type Waiting = Place & ({ kind: "approval"; asked: OpenCall } | { kind: "question"; asked: OpenQuestion });

/** A decision takes effect when the run reads it; what is still asked after that long waits again. */
const TAKEN_WITHIN = 15_000;

function isSame(a: Waiting, b: Waiting): boolean {
  return a.kind === b.kind && JSON.stringify(a.asked) === JSON.stringify(b.asked);
}

export function listed(approvals: readonly OpenCall[], questions: readonly OpenQuestion[]): Waiting[] {
  const place = (asked: { trace_id: string; call: string }): Place => ({
    key: `${asked.trace_id}/${asked.call}`,
    trace: asked.trace_id,
    call: asked.call,
    fate: null,
    isLater: false,
  });
  const calls = approvals.map((asked): Waiting => ({ ...place(asked), kind: "approval", asked }));
  const asked = questions.map((asked): Waiting => ({ ...place(asked), kind: "question", asked }));
  // Who has waited longest comes first.
  return [...calls, ...asked].sort((a, b) => a.asked.since.localeCompare(b.asked.since));
}

/** What is shown, after the server was asked again. */
export function merged(shown: readonly Waiting[], now: readonly Waiting[], time: number): Waiting[] {
  const open = new Map(now.map((one) => [one.key, one]));
  const known = new Set(shown.map((one) => one.key));
  const kept = shown.map((one): Waiting => {
    const again = open.get(one.key);
    if (again === undefined) return one.fate === null ? { ...one, fate: { is: "gone" } } : one;
    if (!isSame(one, again)) return { ...again, isLater: one.isLater };
    const isOver = one.fate !== null && (one.fate.is === "gone" || time - one.fate.at > TAKEN_WITHIN);
    return isOver ? { ...one, fate: null } : one;
  });
  return [...kept, ...now.filter((one) => !known.has(one.key))];
}

/** The next one that waits, from a place on, or before it; the same again where there is no other. */
export function neighbour(all: readonly Waiting[], key: string | null, step: 1 | -1): string | null {
  const at = all.findIndex((one) => one.key === key);
  if (at < 0) return all[step === 1 ? 0 : all.length - 1]?.key ?? null;
  return all[at + step]?.key ?? key;
}
