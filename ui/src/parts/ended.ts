// Something that has just ended. A button that appears in its place stays disabled for a moment: the next click may be the second one of a
// double click on what was there.
import { onScopeDispose, ref, watch, type Ref } from "vue";

/** Longer than a slow double click takes, in milliseconds. */
const PAUSE = 1500;

/** Whether it was on until a moment ago. */
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
    // Before the page is drawn: the button is never enabled in between.
    { flush: "sync" },
  );
  onScopeDispose(() => clearTimeout(timer));
  return hasJustEnded;
}
