// What two runs took, side by side, from the answer of the comparison.
import type { Schemas } from "../../api/client";
import { byModel, byTool, failures, sum, turns, workingTime } from "../../model/run-stats";

export type Side = Schemas["ComparedTrace"];

export interface Figures {
  cost_micros: number;
  about: boolean;
  turns: number;
  requests: number;
  calls: number;
  failed: number;
  denied: number;
  interrupted: number;
  input: number;
  output: number;
  ms: number;
  messages: number;
}

/** What is counted, in the order that it is shown. */
export const COUNTED = ["cost_micros", "turns", "requests", "calls", "failed", "denied", "interrupted", "input", "output", "ms", "messages"] as const;

function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

export function figures(side: Side): Figures {
  const tools = [...byTool(side.runs).values()];
  return {
    cost_micros: number(side.meta["total_cost_micros"]),
    about: side.meta["totals_are_estimates"] === true,
    turns: turns(side.runs),
    requests: sum([...byModel(side.runs).values()].map((model) => model.requests)),
    calls: sum(tools.map((tool) => tool.ran)),
    failed: sum(tools.map(failures)),
    denied: sum(tools.map((tool) => tool.denied)),
    interrupted: sum(tools.map((tool) => tool.interrupted)),
    input: number(side.meta["total_prompt_tokens"]),
    output: number(side.meta["total_completion_tokens"]),
    ms: workingTime(side.runs),
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
  const [left, right] = [byTool(a.runs), byTool(b.runs)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const rows = names.map((tool) => ({ tool, a: left.get(tool)?.ran ?? 0, b: right.get(tool)?.ran ?? 0 }));
  return rows.sort((x, y) => Math.abs(y.b - y.a) - Math.abs(x.b - x.a) || x.tool.localeCompare(y.tool));
}
