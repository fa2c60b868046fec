// Asks the server again and again while the page is seen.
import { onScopeDispose, shallowRef, type ShallowRef } from "vue";
import { asProblem, type ApiProblem } from "../api/problem";

export interface Live {
  /** What the last time failed with; undefined once it works again. */
  problem: Readonly<ShallowRef<ApiProblem | undefined>>;
  /** Whether it has worked at least once. */
  isLoaded: Readonly<ShallowRef<boolean>>;
  /** Asks now. What is under way is left to end, and its answer not used. */
  again(): void;
}

/** Runs `ask` now and so many milliseconds after it ended, later where it takes long; its answer goes to `take`. */
export function useLive<T>(ask: (signal: AbortSignal) => Promise<T>, take: (answer: T) => void, ms: number): Live {
  const problem = shallowRef<ApiProblem>();
  const isLoaded = shallowRef(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let current: AbortController | undefined;

  async function round(): Promise<void> {
    clearTimeout(timer);
    current?.abort();
    const mine = new AbortController();
    current = mine;
    const began = performance.now();
    try {
      const answer = await ask(mine.signal);
      if (mine.signal.aborted) return;
      take(answer);
      problem.value = undefined;
      isLoaded.value = true;
    } catch (thrown) {
      if (mine.signal.aborted) return;
      problem.value = asProblem(thrown);
    }
    if (!document.hidden) timer = setTimeout(() => void round(), Math.max(ms, 2 * (performance.now() - began)));
  }

  function seen(): void {
    if (!document.hidden) void round();
  }

  document.addEventListener("visibilitychange", seen);
  addEventListener("online", seen);
  onScopeDispose(() => {
    clearTimeout(timer);
    current?.abort();
    document.removeEventListener("visibilitychange", seen);
    removeEventListener("online", seen);
  });
  void round();
  return { problem, isLoaded, again: () => void round() };
}
