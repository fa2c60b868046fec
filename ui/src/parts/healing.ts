// While a page says that the server does not answer, it asks whether it answers again: at first soon, then less and less often.
import { onScopeDispose, watch } from "vue";
import { send } from "../api/client";
import type { ApiProblem } from "../api/problem";

const FIRST_WAIT = 2000;
const LONGEST_WAIT = 30_000;
/** What failed is tried again after a pause: it may fail again while other requests succeed. */
const PAUSE = 1000;

/** Asks as long as the problem holds; any answer ends it, also one to another request. Calls `healed` then. */
export function useHealing(problem: () => ApiProblem, healed: () => void): void {
  const gone = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pause: ReturnType<typeof setTimeout> | undefined;
  let wait = FIRST_WAIT;

  function later(): void {
    clearTimeout(timer);
    if (gone.signal.aborted || !problem().isOffline || problem().isOver) return;
    timer = setTimeout(() => void ask(), wait);
    wait = Math.min(LONGEST_WAIT, 2 * wait);
  }

  async function ask(): Promise<void> {
    // What it says does not matter.
    if (!document.hidden) await send(new Request("/api/key", { credentials: "omit", cache: "no-store", signal: gone.signal })).catch(() => undefined);
    later();
  }

  function now(): void {
    wait = FIRST_WAIT;
    if (!document.hidden && problem().isOffline && !problem().isOver) void ask();
  }

  watch(problem, later, { immediate: true });
  watch(
    () => [problem(), problem().isOver] as const,
    ([, isOver]) => {
      clearTimeout(pause);
      if (isOver) pause = setTimeout(healed, PAUSE);
    },
    { immediate: true },
  );
  addEventListener("online", now);
  document.addEventListener("visibilitychange", now);
  onScopeDispose(() => {
    clearTimeout(timer);
    clearTimeout(pause);
    gone.abort();
    removeEventListener("online", now);
    document.removeEventListener("visibilitychange", now);
  });
}
