import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { EVENT_TYPES } from "../model/event-types";

test("the UI knows every event that the program publishes, and no other", () => {
  const source = readFileSync(new URL("../../../crates/mainpath/src/event/kinds.rs", import.meta.url), "utf8");
  const published = [...source.matchAll(/^ {4}\w+\(\w+\) = "(\w+)",$/gm)].map((found) => found[1]);
  expect(published.length).toBeGreaterThan(50);
  expect([...EVENT_TYPES].sort()).toEqual(published.sort());
});
