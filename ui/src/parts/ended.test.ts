import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { effectScope, ref } from "vue";
import { useJustEnded } from "./ended";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("an end lasts for a moment, and what was off from the beginning has not ended", () => {
  const scope = effectScope();
  scope.run(() => {
    const isOn = ref(false);
    const hasJustEnded = useJustEnded(() => isOn.value);
    expect(hasJustEnded.value).toBe(false);
    isOn.value = true;
    expect(hasJustEnded.value).toBe(false);
    isOn.value = false;
    expect(hasJustEnded.value).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(hasJustEnded.value).toBe(true);
    vi.advanceTimersByTime(1000);
    expect(hasJustEnded.value).toBe(false);
  });
  scope.stop();
});

test("what begins again has not ended, and its next end lasts as long", () => {
  const scope = effectScope();
  scope.run(() => {
    const isOn = ref(true);
    const hasJustEnded = useJustEnded(() => isOn.value);
    isOn.value = false;
    vi.advanceTimersByTime(1000);
    isOn.value = true;
    expect(hasJustEnded.value).toBe(false);
    isOn.value = false;
    vi.advanceTimersByTime(1000);
    expect(hasJustEnded.value).toBe(true);
  });
  scope.stop();
});
