// Counts the answers of the server, so that a problem can tell whether one has come since.
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
