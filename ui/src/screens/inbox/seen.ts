// Whether the whole of something has been before a person's eyes.
import { onBeforeUnmount, onMounted, ref, watch, type Ref } from "vue";
import { covered, isWhole, type Interval } from "./intervals";

/**
 * True once every part of `content` was inside the visible part of `scroller`, `isMounted` being whether it is all there.
 * It begins again whenever `what` becomes something else.
 */
export function useSeen(
  scroller: Ref<HTMLElement | null>,
  content: Ref<HTMLElement | null>,
  what: () => string,
  isMounted: Ref<boolean>,
): Readonly<Ref<boolean>> {
  const isSeen = ref(false);
  let parts: Interval[] = [];
  let width = 0;

  function look(): void {
    if (isSeen.value || scroller.value === null || content.value === null || document.hidden) return;
    const [frame, box] = [scroller.value.getBoundingClientRect(), content.value.getBoundingClientRect()];
    // In another width the lines are elsewhere.
    if (box.width !== width) [parts, width] = [[], box.width];
    const top = Math.max(frame.top, 0) - box.top;
    const bottom = Math.min(frame.bottom, innerHeight) - box.top;
    parts = covered(parts, [Math.max(0, top), Math.min(box.height, bottom)]);
    isSeen.value = isMounted.value && isWhole(parts, box.height);
  }

  function begin(): void {
    [isSeen.value, parts, width] = [false, [], 0];
    look();
  }

  const observer = new ResizeObserver(look);
  watch(
    [scroller, content],
    ([frame, box]) => {
      observer.disconnect();
      if (frame !== null) observer.observe(frame);
      if (box !== null) observer.observe(box);
    },
    { flush: "post", immediate: true },
  );
  watch(what, begin, { flush: "post" });
  watch(isMounted, look, { flush: "post" });
  onMounted(() => {
    addEventListener("scroll", look, { capture: true, passive: true });
    document.addEventListener("visibilitychange", look);
    look();
  });
  onBeforeUnmount(() => {
    observer.disconnect();
    removeEventListener("scroll", look, { capture: true });
    document.removeEventListener("visibilitychange", look);
  });
  return isSeen;
}
