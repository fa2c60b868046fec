import { expect, test } from "vitest";
import { ApiProblem } from "../api/problem";
import { useAct } from "./act";

test("a problem is kept until the next action begins", async () => {
  const { isBusy, problem, act } = useAct();
  const refusal = new ApiProblem(409, "refused");
  expect(await act(() => Promise.reject(refusal))).toBe(false);
  expect([isBusy.value, problem.value]).toEqual([false, refusal]);
  const done = act(() => Promise.resolve());
  expect([isBusy.value, problem.value]).toEqual([true, undefined]);
  expect(await done).toBe(true);
  expect(isBusy.value).toBe(false);
});
