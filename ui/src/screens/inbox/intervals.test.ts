import { expect, test } from "vitest";
import { covered, isWhole, type Interval } from "./intervals";

function all(...parts: Interval[]): Interval[] {
  return parts.reduce<Interval[]>((known, part) => covered(known, part), []);
}

test("parts that touch become one, in whatever order they come", () => {
  expect(all([0, 100], [300, 400])).toEqual([[0, 100], [300, 400]]);
  expect(all([300, 400], [0, 100], [90, 310])).toEqual([[0, 400]]);
  expect(all([0, 10], [10, 10], [50, 40])).toEqual([[0, 10]]);
});

test("who jumps to the end has not seen the middle", () => {
  expect(isWhole(all([0, 500], [4500, 5000]), 5000)).toBe(false);
  expect(isWhole(all([0, 500], [4500, 5000], [500, 4500]), 5000)).toBe(true);
  expect(isWhole([], 0)).toBe(false);
});
