// One clock for all ages of the page.
import { ref, type Ref } from "vue";

const now = ref(Date.now());
let isTicking = false;

/** The time, to the second. */
export function useNow(): Readonly<Ref<number>> {
  if (!isTicking) {
    isTicking = true;
    setInterval(() => {
      if (!document.hidden) now.value = Date.now();
    }, 1000);
  }
  return now;
}
