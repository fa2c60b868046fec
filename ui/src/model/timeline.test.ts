import { expect, test } from "vitest";
import type { RunEvent } from "../api/events";
import { spans } from "./timeline";

let second = 0;
function event(type: string, data: object): RunEvent {
  const ts = new Date(Date.UTC(2026, 10, 26) + 1000 * second++).toISOString();
  return { type, ts, id: second, turn: 1, trace_id: "t", run_id: "t/1", data } as RunEvent;
}

/** A call that began, and ended so. */
function call(id: string, resolution: string): RunEvent[] {
  return [
    event("action_planned", { call: id, tool: "bash", arguments: "{}" }),
    event("action_started", { call: id, attempt: 1 }),
    event("observation_recorded", { call: id, attempt: 1, resolution, elapsed_ms: 0 }),
  ];
}

test("what became of a span is marked as its badge says it", () => {
  const events = [
    ...call("2.0", "ok"),
    ...call("2.1", "error"),
    ...call("2.2", "interrupted"),
    ...call("2.3", "unknown"),
    event("model_request", { request: 1 }),
    event("model_abandoned", { request: 1, lost: false, cost: 0 }),
    event("model_request", { request: 2 }),
    event("model_failed", { request: 2, error: { kind: "auth", message: "" }, cost: 0 }),
    event("sub_trace_started", { call: "4.0", child: "c", mode: "explore" }),
    event("sub_trace_completed", { call: "4.0", child: "c", outcome: "stopped" }),
  ];
  expect(spans(events, 0).map((span) => [span.lane, span.mark])).toEqual([
    ["tools", null],
    ["tools", "failed"],
    ["tools", "stopped"],
    ["tools", "unknown"],
    ["model", "stopped"],
    ["model", "failed"],
    ["agents", "stopped"],
  ]);
});

test("a denied call has waited, and was denied", () => {
  const events = [
    event("approval_required", { call: "2.0", tool: "bash" }),
    event("approval_denied", { call: "2.0", by: "user" }),
    event("observation_recorded", { call: "2.0", attempt: 0, resolution: "denied" }),
  ];
  expect(spans(events, 0).map((span) => [span.lane, span.mark])).toEqual([["waiting", "denied"]]);
});
