import { expect, test } from "vitest";
import { byModel, byTool, failures, turns, workingTime } from "./run-stats";

const bash = (more: object) => ({ bash: { calls: 1, ran: 0, denied: 0, interrupted: 0, errors: {}, total_ms: 0, longest_ms: 0, ...more } });
// A run that was stopped in its call, and one that went on an hour later.
const RUNS = [
  { began: 0, ms: 2242, turns: { count: 1 }, models: { m: { requests: 1, cost: 5, usage: { input: 10 } } }, tools: bash({ interrupted: 1 }) },
  {
    began: 3_600_000,
    ms: 15,
    turns: { count: 2 },
    models: { m: { requests: 2, cost: 1, about: true, usage: { input: 1, output: 2 } }, n: { requests: 1 } },
    tools: bash({ calls: 2, ran: 2, errors: { exit_code: 1 }, total_ms: 9, longest_ms: 6 }),
  },
];

test("the time of runs is the time that they worked, not the time between them", () => {
  expect(workingTime(RUNS)).toBe(2257);
  expect(turns(RUNS)).toBe(3);
  expect(workingTime([{}])).toBe(0);
});

test("calls and requests are put together by name", () => {
  const tool = byTool(RUNS).get("bash");
  expect(tool).toEqual({ calls: 3, ran: 2, denied: 0, interrupted: 1, errors: { exit_code: 1 }, total_ms: 9, longest_ms: 6 });
  expect(tool && failures(tool)).toBe(1);
  expect([...byModel(RUNS)]).toEqual([
    ["m", { requests: 3, cost: 6, about: true, usage: { input: 11, output: 2 } }],
    ["n", { requests: 1, cost: 0, about: false, usage: { input: 0, output: 0 } }],
  ]);
});

test("a call that was interrupted has no time", () => {
  const tool = byTool(RUNS.slice(0, 1)).get("bash");
  expect(tool).toMatchObject({ calls: 1, ran: 0, interrupted: 1 });
});
