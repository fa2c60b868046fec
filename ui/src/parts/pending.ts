// Something that was asked for and takes effect later. Until then its button is disabled: a second request would be refused.
import { onScopeDispose, ref, watch, type Ref } from "vue";

/** After so many milliseconds it can be asked for again in any case. */
const LONGEST = 5000;

export interface Pending {
  readonly isPending: Readonly<Ref<boolean>>;
  /** Asks for it. If that succeeds, it is pending until things have changed since the request was made. */
  until(ask: () => Promise<boolean>): Promise<boolean>;
}

/** `where` says how things stand; when that changes, nothing is pending any more. */
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
