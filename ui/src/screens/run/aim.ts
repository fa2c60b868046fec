// The place in a run that an address names: an event, or the event of a message, a call or a turn.
import type { LocationQuery } from "vue-router";
import { api, data } from "../../api/client";
import { eventsAfter } from "./trace";

export interface Aim {
  event: number;
  call?: string;
}

function number(value: unknown): number | null {
  const found = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : null;
  return found;
}

/** The event with which a message entered the log. */
async function ofMessage(trace: string, seq: number): Promise<number | null> {
  const { messages } = await data(api.GET("/api/traces/{id}/tree", { params: { path: { id: trace } } }));
  const found = messages.find((message) => message["seq"] === seq);
  return typeof found?.["event"] === "number" ? found["event"] : null;
}

/** The first event of a turn: turns rise with the numbers of events, so it is found by halving. */
export async function firstOfTurn(trace: string, turn: number): Promise<number | null> {
  let low = 0;
  let high = (await eventsAfter(trace, 0, 1)).head;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = (await eventsAfter(trace, middle, 1)).events;
    if (event === undefined) return null;
    if (event.turn < turn) low = middle + 1;
    else high = middle;
  }
  return low + 1;
}

/** What of an address names a place, to be watched: other words of it, such as the request that is looked at, bring nothing into sight. */
export function placeKey(query: LocationQuery): string {
  return JSON.stringify(["event", "call", "message", "turn"].map((name) => query[name]));
}

/** Whether an address names a place. */
export function namesPlace(query: LocationQuery): boolean {
  return ["event", "call", "message", "turn"].some((name) => query[name] !== undefined);
}

export async function placeOf(trace: string, query: LocationQuery): Promise<Aim | null> {
  const event = number(query["event"]);
  if (event !== null) return { event };
  const call = query["call"];
  if (typeof call === "string" && /^\d+\.\d+$/.test(call)) {
    const found = await ofMessage(trace, Number(call.split(".")[0])).catch(() => null);
    return found === null ? null : { event: found, call };
  }
  const message = number(query["message"]);
  if (message !== null) {
    const found = await ofMessage(trace, message).catch(() => null);
    return found === null ? null : { event: found };
  }
  const turn = number(query["turn"]);
  if (turn === null) return null;
  const found = await firstOfTurn(trace, turn).catch(() => null);
  return found === null ? null : { event: found };
}
