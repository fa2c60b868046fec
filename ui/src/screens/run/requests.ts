// What is known of a request to the model.
import type { EventData } from "../../api/events";
import { known } from "../../model/window";
import { firstOfTurn } from "./aim";
import { eventsAfter } from "./trace";

/** `mainpath context --json`; the document describes it as an object of anything. */
export interface Report {
  request: number | null;
  window: number;
  reserved: number;
  most: number;
  estimate: number;
  counted: number | null;
  sections: Record<string, { share: number; tokens: number }>;
  parts: { section: string; what: string; how?: string; message?: number | null; event?: number | null; tokens: number }[];
  left_out: { first: number; last: number; tokens: number; why: string; by: number }[];
}

export type Usage = EventData["model_response"]["usage"];

export interface RequestPlace {
  /** The event of the request. */
  event: number;
  /** What its answer took; there is none while it comes, or where it failed. */
  usage: Usage | undefined;
}

/** So many events are looked through at once. */
const PART = 200;

/** Where a request lies in the log. A turn's first event is found by halving, and the request near it. */
export async function requestPlace(trace: string, turn: number, request: number): Promise<RequestPlace | undefined> {
  let after = ((await firstOfTurn(trace, turn)) ?? 1) - 1;
  let event: number | undefined;
  for (;;) {
    const part = await eventsAfter(trace, after, PART);
    for (const one of known(part.events)) {
      if (one.type === "model_request" && one.data.request === request) event = one.id ?? undefined;
      if (one.type === "model_response" && one.data.request === request && event !== undefined) return { event, usage: one.data.usage };
    }
    after += PART;
    const isPast = (part.events.at(-1)?.turn ?? 0) > turn + 1;
    if (after >= part.head || isPast) return event === undefined ? undefined : { event, usage: undefined };
  }
}
