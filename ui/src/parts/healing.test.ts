import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { effectScope, nextTick, shallowRef } from "vue";
import { ApiProblem } from "../api/problem";
import { answered } from "../api/reach";
import { useHealing } from "./healing";

const { send } = vi.hoisted(() => ({ send: vi.fn<() => Promise<void>>() }));
vi.mock("../api/client", () => ({ send }));

beforeEach(() => {
  vi.useFakeTimers();
  send.mockReset();
  const nothing = { addEventListener: vi.fn(), removeEventListener: vi.fn() };
  vi.stubGlobal("document", { hidden: false, ...nothing });
  vi.stubGlobal("addEventListener", nothing.addEventListener);
  vi.stubGlobal("removeEventListener", nothing.removeEventListener);
  vi.stubGlobal("Request", class {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the server is asked less and less often, until it answers", async () => {
  send.mockRejectedValue(new Error("Failed to fetch"));
  const healed = vi.fn();
  const scope = effectScope();
  const problem = new ApiProblem(0, "Failed to fetch");
  scope.run(() => useHealing(() => problem, healed));
  await vi.advanceTimersByTimeAsync(2000);
  expect(send).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(3000);
  expect(send).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(send.mock.calls.length).toBeLessThan(7);
  expect(healed).not.toHaveBeenCalled();
  send.mockImplementation(() => Promise.resolve(answered()));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(healed).toHaveBeenCalledTimes(1);
  const asked = send.mock.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(send).toHaveBeenCalledTimes(asked);
  scope.stop();
});

test("what fails while other requests succeed is tried again once a second at most", async () => {
  const scope = effectScope();
  const problem = shallowRef(new ApiProblem(0, "Failed to fetch"));
  const healed = vi.fn(() => {
    problem.value = new ApiProblem(0, "Failed to fetch");
    answered();
  });
  scope.run(() => useHealing(() => problem.value, healed));
  answered();
  await nextTick();
  await vi.advanceTimersByTimeAsync(10_500);
  expect(healed.mock.calls.length).toBe(10);
  scope.stop();
});

test("nothing is asked because of a refusal", async () => {
  const scope = effectScope();
  scope.run(() => useHealing(() => new ApiProblem(409, "refused"), () => undefined));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(send).not.toHaveBeenCalled();
  scope.stop();
});
