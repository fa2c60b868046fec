// Something that has just ended. What appears in its place takes no click at once: it would be the second of a double click on what was there.
import { onScopeDispose, ref, watch, type Ref } from "vue";

/** Longer than the pause within a double click, also a slow one. */
const PAUSE = 1500;

/** Whether it was on until less than a moment ago. */
export function useJustEnded(isOn: () => boolean): Readonly<Ref<boolean>> {
  const hasJustEnded = ref(false);
  let timer: ReturnType<typeof setTimeout> | undefined;
  watch(
    isOn,
    (now, before) => {
      clearTimeout(timer);
      hasJustEnded.value = before && !now;
      if (hasJustEnded.value) timer = setTimeout(() => (hasJustEnded.value = false), PAUSE);
    },
    // What it guards must not be seen for even one frame without it.
    { flush: "sync" },
  );
  onScopeDispose(() => clearTimeout(timer));
  return hasJustEnded;
}
