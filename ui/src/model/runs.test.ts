import { expect, test } from "vitest";
import { dayBounds, rootOf, waitingFor, withNewest, withOlder, type Listed } from "./runs";

const row = (trace_id: string, minute: number): Listed => ({ trace_id, modified: `2026-11-26T10:${minute}:00.000Z` }) as Listed;
const ids = (rows: Listed[]) => rows.map((one) => one.trace_id);

test("a run that changes comes to the top and is there once", () => {
  const known = [row("c", 30), row("b", 20), row("a", 10)];
  expect(ids(withNewest(known, [row("b", 40), row("c", 30)], false))).toEqual(["b", "c", "a"]);
});

test("a run that fits the filter no more leaves the list", () => {
  const known = [row("c", 30), row("b", 20), row("a", 10)];
  expect(ids(withNewest(known, [row("c", 30), row("a", 10)], false))).toEqual(["c", "a"]);
  expect(ids(withNewest(known, [row("c", 30)], true))).toEqual(["c"]);
  expect(ids(withNewest(known, [], true))).toEqual([]);
});

test("older parts are added once", () => {
  expect(ids(withOlder([row("c", 30), row("b", 20)], [row("b", 20), row("a", 10)]))).toEqual(["c", "b", "a"]);
});

test("a run waits for what its agents wait for", () => {
  const approval = { trace_id: "t@delegate-1-001", tool: "bash", call: "4.0" } as never;
  const question = { trace_id: "t", tool: "ask_human", call: "2.0" } as never;
  expect(waitingFor([approval], [question]).get("t")).toEqual([
    { kind: "approval", tool: "bash", trace: "t@delegate-1-001", call: "4.0" },
    { kind: "question", tool: "ask_human", trace: "t", call: "2.0" },
  ]);
  expect(rootOf("t@delegate-1-001@explore-2")).toBe("t");
});

test("a day ends where the next begins", () => {
  expect(dayBounds("2026-12-31")[1]).toBe(dayBounds("2027-01-01")[0]);
});
