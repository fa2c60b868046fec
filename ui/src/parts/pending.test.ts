import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { effectScope, nextTick, ref } from "vue";
import { usePending } from "./pending";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what was asked for is pending until things change, and at most for a while", async () => {
  const scope = effectScope();
  const where = ref("running");
  const stop = scope.run(() => usePending(() => where.value));
  if (stop === undefined) throw new Error("no scope");
  expect(stop.isPending.value).toBe(false);
  await stop.until(() => Promise.resolve(true));
  vi.advanceTimersByTime(3000);
  expect(stop.isPending.value).toBe(true);
  where.value = "stopped";
  await nextTick();
  expect(stop.isPending.value).toBe(false);
  await stop.until(() => Promise.resolve(true));
  expect(stop.isPending.value).toBe(true);
  vi.advanceTimersByTime(6000);
  expect(stop.isPending.value).toBe(false);
  scope.stop();
});

test("what was refused, or took effect before the answer, is not pending", async () => {
  const scope = effectScope();
  const where = ref("running");
  const stop = scope.run(() => usePending(() => where.value));
  if (stop === undefined) throw new Error("no scope");
  await stop.until(() => Promise.resolve(false));
  expect(stop.isPending.value).toBe(false);
  await stop.until(async () => {
    where.value = "stopped";
    return true;
  });
  expect(stop.isPending.value).toBe(false);
  scope.stop();
});
