import { expect, test } from "vitest";
import { listed, merged, neighbour, type OpenCall } from "./waiting";

function call(name: string, since = "2026-01-01T00:00:00Z", command = "ls"): OpenCall {
  return { trace_id: "t", call: name, since, tool: "bash", arguments: { command }, changed_by: [], places: [] };
}

test("what is new comes last, though it has waited longer", () => {
  const before = listed([call("2.0", "2026-01-02T00:00:00Z")], []);
  const after = merged(before, listed([call("1.0", "2026-01-01T00:00:00Z"), call("2.0", "2026-01-02T00:00:00Z")], []), 0);
  expect(after.map((one) => one.call)).toEqual(["2.0", "1.0"]);
});

test("what somebody else has decided keeps its place and says so", () => {
  const before = listed([call("1.0"), call("2.0")], []);
  const after = merged(before, listed([call("2.0")], []), 0);
  expect(after.map((one) => [one.call, one.fate?.is])).toEqual([["1.0", "gone"], ["2.0", undefined]]);
});

test("a decision holds until the run has read it, and is taken back where the call is still asked about long after", () => {
  const [one] = listed([call("1.0")], []);
  if (one === undefined) throw new Error("none");
  const decided = [{ ...one, fate: { is: "approved" as const, at: 1000 } }];
  expect(merged(decided, listed([call("1.0")], []), 3000)[0]?.fate?.is).toBe("approved");
  expect(merged(decided, listed([call("1.0")], []), 60_000)[0]?.fate).toBe(null);
});

test("a call that asks with other arguments is another question", () => {
  const [one] = listed([call("1.0")], []);
  if (one === undefined) throw new Error("none");
  const decided = [{ ...one, fate: { is: "approved" as const, at: 1000 } }];
  const again = merged(decided, listed([call("1.0", undefined, "rm -rf /")], []), 1001);
  expect(again[0]?.fate).toBe(null);
  expect(JSON.stringify(again[0]?.asked)).toContain("rm -rf /");
});

test("the selection stays at the ends", () => {
  const all = listed([call("1.0"), call("2.0")], []);
  expect(neighbour(all, "t/1.0", 1)).toBe("t/2.0");
  expect(neighbour(all, "t/2.0", 1)).toBe("t/2.0");
  expect(neighbour(all, null, 1)).toBe("t/1.0");
});
