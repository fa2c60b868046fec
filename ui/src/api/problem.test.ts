import { expect, test } from "vitest";
import { effectScope, computed } from "vue";
import { ApiProblem, asProblem } from "./problem";
import { answered } from "./reach";

test("an unreachable server is over with the next answer", () => {
  const problem = asProblem(new TypeError("Failed to fetch"));
  expect([problem.isOffline, problem.isOver]).toEqual([true, false]);
  answered();
  expect(problem.isOver).toBe(true);
  // The next one is another problem, and lasts until the answer after it.
  const next = new ApiProblem(0, "Failed to fetch");
  expect(next.isOver).toBe(false);
  answered();
  expect(next.isOver).toBe(true);
});

test("a refusal is not over with other answers", () => {
  const problem = new ApiProblem(409, "refused");
  answered();
  expect(problem.isOver).toBe(false);
});

test("the end of a problem is reactive", () => {
  const scope = effectScope();
  scope.run(() => {
    const problem = new ApiProblem(0, "Failed to fetch");
    const isOver = computed(() => problem.isOver);
    expect(isOver.value).toBe(false);
    answered();
    expect(isOver.value).toBe(true);
  });
  scope.stop();
});
