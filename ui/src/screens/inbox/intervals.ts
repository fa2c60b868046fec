// Which parts of a length were covered.

export type Interval = [from: number, to: number];

/** The intervals with one more, in order, those that touch as one. */
export function covered(intervals: readonly Interval[], more: Interval): Interval[] {
  if (more[1] <= more[0]) return [...intervals];
  let [from, to] = more;
  const apart = intervals.filter((one) => {
    // A line that is cut by a pixel was seen.
    const isApart = one[1] < from - 1 || one[0] > to + 1;
    if (!isApart) [from, to] = [Math.min(from, one[0]), Math.max(to, one[1])];
    return isApart;
  });
  return [...apart, [from, to] as Interval].sort((a, b) => a[0] - b[0]);
}

/** Whether they cover a length from its beginning to its end. */
export function isWhole(intervals: readonly Interval[], length: number): boolean {
  const first = intervals[0];
  return first !== undefined && first[0] <= 1 && first[1] >= length - 1;
}
