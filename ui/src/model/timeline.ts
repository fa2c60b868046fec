// When turns, tools, agents and waiting took place, out of events.
import type { RunEvent } from "../api/events";
import { abandonedState, outcomeState, resolutionState, type State } from "./states";

export type Lane = "model" | "tools" | "agents" | "waiting";

export interface Span {
  lane: Lane;
  from: number;
  to: number;
  /** What it was: a tool, an agent, a request. */
  what: string;
  /** The event that began it. */
  event: number;
  turn: number;
  /** What became of it; null if it ended as it should, or goes on. */
  mark: State | null;
}

interface Open {
  span: Omit<Span, "to">;
}

/** The spans of events in the order of their numbers. What has not ended lasts until `now`. */
export function spans(events: readonly RunEvent[], now: number): Span[] {
  const open = new Map<string, Open>();
  const done: Span[] = [];
  const tools = new Map<string, string>();
  const begin = (key: string, event: RunEvent, lane: Lane, what: string): void => {
    open.set(key, { span: { lane, what, from: Date.parse(event.ts), event: event.id ?? 0, turn: event.turn, mark: null } });
  };
  const end = (key: string, event: RunEvent, state: State = "ended"): void => {
    const found = open.get(key);
    if (found === undefined) return;
    open.delete(key);
    done.push({ ...found.span, to: Date.parse(event.ts), mark: state === "ended" ? null : state });
  };

  for (const event of events) {
    switch (event.type) {
      case "model_request":
        begin(`model ${event.data.request}`, event, "model", String(event.data.request));
        break;
      case "model_response":
        end(`model ${event.data.request}`, event, event.data.problem === undefined ? "ended" : "failed");
        break;
      case "model_failed":
        end(`model ${event.data.request}`, event, "failed");
        break;
      case "model_abandoned":
        end(`model ${event.data.request}`, event, abandonedState(event.data.lost));
        break;
      case "action_planned":
        tools.set(event.data.call, event.data.tool);
        break;
      case "approval_required":
        begin(`wait ${event.data.call}`, event, "waiting", event.data.tool);
        break;
      case "approval_granted":
      case "approval_denied":
        end(`wait ${event.data.call}`, event, event.type === "approval_denied" ? "denied" : "ended");
        break;
      case "action_started": {
        end(`wait ${event.data.call}`, event);
        const tool = tools.get(event.data.call) ?? "";
        begin(`call ${event.data.call}`, event, tool === "ask_human" ? "waiting" : "tools", tool);
        break;
      }
      case "observation_recorded":
        end(`wait ${event.data.call}`, event, event.data.resolution === "denied" ? "denied" : "ended");
        end(`call ${event.data.call}`, event, resolutionState(event.data.resolution));
        break;
      case "sub_trace_started":
        begin(`agent ${event.data.child}`, event, "agents", event.data.task ?? event.data.child);
        break;
      case "sub_trace_completed":
        end(`agent ${event.data.child}`, event, outcomeState(event.data.outcome));
        break;
      case "run_finished":
        for (const key of open.keys()) end(key, event);
        break;
      default:
        break;
    }
  }
  for (const { span } of open.values()) done.push({ ...span, to: Math.max(now, span.from) });
  return done.sort((a, b) => a.from - b.from);
}

/** The time that at least one span of a lane covers. */
export function covered(all: readonly Span[], lane: Lane): number {
  let sum = 0;
  let until = -Infinity;
  for (const span of all.filter((one) => one.lane === lane)) {
    sum += Math.max(0, span.to - Math.max(span.from, until));
    until = Math.max(until, span.to);
  }
  return sum;
}

export interface TurnCost {
  turn: number;
  event: number;
  /** The last request of the turn. */
  request: number;
  cost: number;
  input: number;
  output: number;
  calls: number;
}

/** What each turn took, the newest first. */
export function turnCosts(events: readonly RunEvent[]): TurnCost[] {
  const turns = new Map<number, TurnCost>();
  for (const event of events) {
    if (event.type !== "model_response") continue;
    const { cost, usage, calls, parts, request } = event.data;
    const known = turns.get(event.turn) ?? { turn: event.turn, event: event.id ?? 0, request, cost: 0, input: 0, output: 0, calls: 0 };
    turns.set(event.turn, {
      ...known,
      request,
      cost: known.cost + cost,
      input: known.input + (usage.input ?? 0),
      output: known.output + (usage.output ?? 0),
      calls: known.calls + (calls?.length ?? parts.filter((part) => part.type === "tool_call").length),
    });
  }
  return [...turns.values()].toReversed();
}
