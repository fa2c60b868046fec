// What the runs of a trace took, put together from their statistics (`GET /api/traces/{id}/stats`, and the same in a comparison).

/** The calls of one tool. */
export interface ToolStats {
  calls: number;
  /** How many ran to an end, good or bad; only these are timed. */
  ran: number;
  denied: number;
  /** Calls that were ended, and those of which nobody knows how they ended. */
  interrupted: number;
  errors: Readonly<Record<string, number>>;
  total_ms: number;
  longest_ms: number;
}

/** The requests to one model. */
export interface ModelStats {
  requests: number;
  cost: number;
  about: boolean;
  usage: { readonly input?: number; readonly output?: number };
}

interface Run {
  ms?: number;
  turns?: { count?: number };
  models?: Record<string, Partial<ModelStats>>;
  tools?: Record<string, Partial<ToolStats>>;
}

/** The runs as the document describes them: objects of anything. */
export type Runs = readonly Record<string, unknown>[];

const NO_CALLS: ToolStats = { calls: 0, ran: 0, denied: 0, interrupted: 0, errors: {}, total_ms: 0, longest_ms: 0 };
const NO_REQUESTS: ModelStats = { requests: 0, cost: 0, about: false, usage: {} };

export function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
}

/** How long they worked, from start to end of each: waiting for people and between runs is not counted. */
export function workingTime(runs: Runs): number {
  return sum((runs as readonly Run[]).map((run) => run.ms));
}

export function turns(runs: Runs): number {
  return sum((runs as readonly Run[]).map((run) => run.turns?.count));
}

function merged<T extends object>(all: readonly Record<string, Partial<T>>[], none: T, add: (a: T, b: T) => T): Map<string, T> {
  const found = new Map<string, T>();
  for (const [name, entry] of all.flatMap((one) => Object.entries(one))) found.set(name, add(found.get(name) ?? none, { ...none, ...entry }));
  return found;
}

export function byTool(runs: Runs): Map<string, ToolStats> {
  return merged((runs as readonly Run[]).map((run) => run.tools ?? {}), NO_CALLS, (a, b) => ({
    calls: a.calls + b.calls,
    ran: a.ran + b.ran,
    denied: a.denied + b.denied,
    interrupted: a.interrupted + b.interrupted,
    errors: { ...a.errors, ...Object.fromEntries(Object.entries(b.errors).map(([name, n]) => [name, n + (a.errors[name] ?? 0)])) },
    total_ms: a.total_ms + b.total_ms,
    longest_ms: Math.max(a.longest_ms, b.longest_ms),
  }));
}

export function byModel(runs: Runs): Map<string, ModelStats> {
  return merged((runs as readonly Run[]).map((run) => run.models ?? {}), NO_REQUESTS, (a, b) => ({
    requests: a.requests + b.requests,
    cost: a.cost + b.cost,
    about: a.about || b.about,
    usage: { input: sum([a.usage.input, b.usage.input]), output: sum([a.usage.output, b.usage.output]) },
  }));
}

export function failures(tool: ToolStats): number {
  return sum(Object.values(tool.errors));
}
