import { expect, test } from "vitest";
import { ranFor, resolutionState, traceState } from "./states";

test("a call that was ended by somebody has not failed", () => {
  expect(["ok", "error", "denied", "skipped", "interrupted", "unknown"].map(resolutionState)).toEqual([
    "ended", "failed", "denied", "stopped", "stopped", "unknown",
  ]);
});

test("a call of which it is not known how long it ran has no time", () => {
  expect(ranFor("unknown", 0)).toBe(null);
  expect(ranFor("interrupted", 0)).toBe(null);
  expect(ranFor("interrupted", 2173)).toBe(2173);
  expect(ranFor("ok", 0)).toBe(0);
  expect(ranFor("error", 0)).toBe(0);
});

test("a run that somebody stopped has not failed, one at its limit has", () => {
  expect(traceState("failed", "stopped")).toBe("stopped");
  expect(traceState("failed", "max_turns")).toBe("failed");
  expect(traceState("completed", "final")).toBe("ended");
  expect(traceState("running", "final")).toBe("running");
});
