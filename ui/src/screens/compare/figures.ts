// What two runs took, side by side, from the answer of the comparison.
import type { Schemas } from "../../api/client";

export type Side = Schemas["ComparedTrace"];

interface ToolStats {
  ran?: number;
  ok?: number;
  denied?: number;
  skipped?: number;
  interrupted?: number;
  errors?: Record<string, number>;
}

interface RunStats {
  ms?: number;
  turns?: { count?: number };
  models?: Record<string, { requests?: number }>;
  tools?: Record<string, ToolStats>;
}

export interface Figures {
  cost_micros: number;
  about: boolean;
  turns: number;
  requests: number;
  calls: number;
  failed: number;
  denied: number;
  input: number;
  output: number;
  ms: number;
  messages: number;
}

/** What is counted, in the order that it is shown. */
export const COUNTED = ["cost_micros", "turns", "requests", "calls", "failed", "denied", "input", "output", "ms", "messages"] as const;

function sum(numbers: (number | undefined)[]): number {
  return numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
}

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

export function figures(side: Side): Figures {
  const runs = side.runs as RunStats[];
  const tools = runs.flatMap((run) => Object.values(run.tools ?? {}));
  return {
    cost_micros: number(side.meta["total_cost_micros"]),
    about: side.meta["totals_are_estimates"] === true,
    turns: sum(runs.map((run) => run.turns?.count)),
    requests: sum(runs.flatMap((run) => Object.values(run.models ?? {}).map((model) => model.requests))),
    calls: sum(tools.map((tool) => tool.ran)),
    failed: sum(tools.flatMap((tool) => Object.values(tool.errors ?? {}))),
    denied: sum(tools.map((tool) => tool.denied)),
    input: number(side.meta["total_prompt_tokens"]),
    output: number(side.meta["total_completion_tokens"]),
    ms: sum(runs.map((run) => run.ms)),
    messages: number(side.meta["total_messages"]),
  };
}

export interface ToolRow {
  tool: string;
  a: number;
  b: number;
}

/** How often each tool really ran, those that differ most first. */
export function tools(a: Side, b: Side): ToolRow[] {
  const count = (side: Side): Map<string, number> => {
    const all = new Map<string, number>();
    for (const run of side.runs as RunStats[]) {
      for (const [tool, stats] of Object.entries(run.tools ?? {})) all.set(tool, (all.get(tool) ?? 0) + (stats.ran ?? 0));
    }
    return all;
  };
  const [left, right] = [count(a), count(b)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const rows = names.map((tool) => ({ tool, a: left.get(tool) ?? 0, b: right.get(tool) ?? 0 }));
  return rows.sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || x.tool.localeCompare(y.tool));
}
