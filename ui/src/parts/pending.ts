// Something that was asked for and comes to pass later. Until then it is not asked for again: that would be refused, or be done twice.
import { onScopeDispose, ref, watch, type Ref } from "vue";

/** So long at most: what has not come to pass by then may be asked for again. */
const LONGEST = 5000;

export interface Pending {
  readonly isPending: Readonly<Ref<boolean>>;
  /** Asks for it. It is pending from its answer on, if that was yes and came before what was asked for. */
  until(ask: () => Promise<boolean>): Promise<boolean>;
}

/** Pending until where things stand changes. */
export function usePending(where: () => string): Pending {
  const isPending = ref(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  function end(): void {
    clearTimeout(timer);
    isPending.value = false;
  }
  watch(where, end);
  onScopeDispose(end);
  return {
    isPending,
    async until(ask) {
      const before = where();
      const done = await ask();
      if (done && where() === before) {
        end();
        isPending.value = true;
        timer = setTimeout(end, LONGEST);
      }
      return done;
    },
  };
}
