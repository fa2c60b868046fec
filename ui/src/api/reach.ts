// Whether the server answers. Each answer is counted, whatever it says: a problem of before it is over.
import { shallowRef } from "vue";

const count = shallowRef(0);

/** How many answers have come. */
export function answers(): number {
  return count.value;
}

/** The server has answered. */
export function answered(): void {
  count.value += 1;
}
