// The list of runs: pages that were loaded, kept together while the newest change.
import type { Schemas } from "../api/client";

export type Listed = Schemas["ListedTrace"];

function newestFirst(a: Listed, b: Listed): number {
  return b.modified.localeCompare(a.modified) || b.trace_id.localeCompare(a.trace_id);
}

/** The list with its newest part as it is now. What lies in that part and is not there any more has gone. */
export function withNewest(known: readonly Listed[], newest: readonly Listed[], isAll: boolean): Listed[] {
  const ids = new Set(newest.map((row) => row.trace_id));
  const last = newest.at(-1);
  const older = known.filter((row) => !ids.has(row.trace_id) && !isAll && last !== undefined && newestFirst(last, row) < 0);
  return [...newest, ...older];
}

/** The list with its next part. */
export function withOlder(known: readonly Listed[], older: readonly Listed[]): Listed[] {
  const ids = new Set(known.map((row) => row.trace_id));
  return [...known, ...older.filter((row) => !ids.has(row.trace_id))];
}

/** The trace to which an agent's trace belongs in the end. */
export function rootOf(trace: string): string {
  return trace.split("@", 1)[0] ?? trace;
}

export interface Waiting {
  kind: "approval" | "question";
  tool: string;
  trace: string;
  call: string;
}

/** What each run waits for, by its trace. A run that waits in one of its agents waits as well. */
export function waitingFor(
  approvals: readonly Schemas["OpenCall"][],
  questions: readonly Schemas["OpenQuestion"][],
): Map<string, Waiting[]> {
  const found = new Map<string, Waiting[]>();
  const add = (kind: Waiting["kind"], one: { trace_id: string; tool: string; call: string }): void => {
    const root = rootOf(one.trace_id);
    const list = found.get(root) ?? [];
    list.push({ kind, tool: one.tool, trace: one.trace_id, call: one.call });
    found.set(root, list);
  };
  approvals.forEach((one) => add("approval", one));
  questions.forEach((one) => add("question", one));
  return found;
}

/** The first and the last moment of a local day (`2026-11-26`), in milliseconds. */
export function dayBounds(day: string): [number, number] {
  const [year = 0, month = 1, date = 1] = day.split("-").map(Number);
  return [new Date(year, month - 1, date).getTime(), new Date(year, month - 1, date + 1).getTime()];
}
