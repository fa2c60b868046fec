import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AnyEvent, RunEvent } from "../api/events";
import { Conversation, conversationOf, texts, type AnswerItem, type Item } from "./conversation";
import { known } from "./window";

// A run as the server has published it: calls, an approval, a failed command, a question, and two ways back.
const GOLDEN = readFileSync(new URL("golden/rewound.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as AnyEvent);
const EVENTS = known(GOLDEN);

function line(item: Item): string {
  const left = item.isLeft ? "(left) " : "";
  if (item.kind === "message") return `${left}${item.seq} ${item.from}: ${texts(item.parts, "text")}`;
  if (item.kind === "note") return item.of.type;
  return `${left}${item.seq} model: ${item.text} ${item.calls.map((call) => `${call.id} ${call.tool} ${call.state}`).join(", ")}`.trim();
}

test("a history reads as what was said and done, with what was left by going back", () => {
  expect(conversationOf(EVENTS).items().map(line)).toMatchInlineSnapshot(`
    [
      "spec_changed",
      "run_started",
      "1 user: Look around.",
      "2 model: I look **around**. 2.0 read_text_file ended, 2.1 list_files ended",
      "(left) 5 model: Now I plan. 5.0 goal failed",
      "(left) 7 model:  7.0 edit_text_file ended",
      "(left) 9 model:  9.0 bash failed",
      "(left) 11 model:  11.0 ask_human ended",
      "(left) 13 model: All is *done*.",
      "run_finished",
      "rewound",
      "run_started",
      "(left) 14 user: x",
      "(left) 15 model: Now I plan. 15.0 goal failed",
      "(left) 17 model:  17.0 edit_text_file stopped",
      "run_finished",
      "rewound",
      "run_started",
      "19 user: Stop here, please.",
      "20 model: Now I plan. 20.0 goal failed",
      "22 model:  22.0 edit_text_file stopped",
      "run_closing",
      "run_finished",
    ]
  `);
});

function piece(type: "assistant_delta" | "tool_output_delta", data: object): RunEvent {
  return { type, ts: "2026-11-26T10:00:00Z", trace_id: "t", run_id: "t/1", turn: 1, data } as RunEvent;
}

test("pieces fill a place until the event comes, and change nothing after it", () => {
  const whole = conversationOf(EVENTS).items();
  const live = new Conversation();
  for (const event of EVENTS) {
    live.apply(event);
    if (event.type === "model_request") {
      live.apply(piece("assistant_delta", { request: event.data.request, text: "half a " }));
      live.apply(piece("assistant_delta", { request: event.data.request, text: "text" }));
      expect(live.answer(event.data.request)?.live?.text).toBe("half a text");
    }
    if (event.type === "action_started") live.apply(piece("tool_output_delta", { call: event.data.call, attempt: 1, text: "out" }));
    // A piece that comes late, after its event, is not shown.
    if (event.type === "model_response") live.apply(piece("assistant_delta", { request: event.data.request, text: "late" }));
    if (event.type === "observation_recorded") live.apply(piece("tool_output_delta", { call: event.data.call, attempt: 1, text: "late" }));
  }
  expect(live.items()).toEqual(whole);
});

test("a history that is loaded from any event on ends as the whole does", () => {
  const whole = conversationOf(EVENTS).items();
  const last = whole.findLast((item): item is AnswerItem => item.kind === "answer");
  for (let from = 0; from < EVENTS.length; from++) {
    const first = EVENTS[from];
    if (first?.type !== "turn_started") continue;
    const part = conversationOf(EVENTS.slice(from)).items().findLast((item): item is AnswerItem => item.kind === "answer");
    expect(part, `from ${from}`).toEqual(last);
  }
});

test("what is still coming comes from its beginning again when the connection is back", () => {
  const request = EVENTS.findIndex((event) => event.type === "model_request");
  const live = conversationOf(EVENTS.slice(0, request + 1));
  live.apply(piece("assistant_delta", { request: 1, text: "half" }));
  live.missedPieces();
  live.apply(piece("assistant_delta", { request: 1, text: "half, and the end" }));
  expect(live.answer(1)?.live).toEqual({ text: "half, and the end", thinking: "", calls: [] });
});

test("settings that are set again without a change have no note", () => {
  const spec = (id: number, model: string): RunEvent =>
    ({ type: "spec_changed", id, ts: "2026-11-26T10:00:00Z", trace_id: "t", run_id: "t/1", turn: 0, data: { by: "user", spec: { model } } }) as unknown as RunEvent;
  const said = (events: RunEvent[]) => conversationOf(events).items().map((item) => item.event);
  expect(said([spec(1, "a"), spec(7, "a"), spec(9, "b"), spec(12, "b"), spec(15, "a")])).toEqual([1, 9, 15]);
});

test("a call that was lost in a crash has no time", () => {
  const planned = EVENTS.findIndex((event) => event.type === "action_started");
  const started = EVENTS[planned] as RunEvent & { data: { call: string } };
  const lost = { ...started, type: "observation_recorded", id: 999, data: { call: started.data.call, attempt: 1, resolution: "unknown", elapsed_ms: 0, cause: "uncertain" } };
  const items = conversationOf([...EVENTS.slice(0, planned + 1), lost as unknown as RunEvent]).items();
  const call = items.flatMap((item) => (item.kind === "answer" ? item.calls : [])).find((one) => one.id === started.data.call);
  expect(call).toMatchObject({ state: "unknown", elapsed: null });
});
