import { expect, test } from "vitest";
import { isSeenAtOnce } from "./arguments";

test("a call is seen at one look if it is a few short lines with nothing hidden", () => {
  const command = (text: string) => isSeenAtOnce(JSON.stringify({ command: text }));
  expect(command("cargo test -q")).toBe(true);
  expect(command("one\ntwo\nthree")).toBe(true);
  expect(command(`ls -la${"\n".repeat(60)}rm -rf important`)).toBe(false);
  expect(command(`ls -la${" ".repeat(200)}; rm -rf important`)).toBe(false);
  expect(command(`ls # ${"y".repeat(500)}; rm -rf important`)).toBe(false);
  expect(command("ls \u202e important")).toBe(false);
  expect(command("ls\u200b")).toBe(false);
  // What passes for a blank, joins, or carries text that nobody sees.
  for (const hidden of ["\u2800", "\u034f", "\u180e", "\u200d", "\ufe0f", "\u{e0162}", "\u00a0"]) expect(command(`echo hi${hidden} > z.txt`)).toBe(false);
  expect(isSeenAtOnce(JSON.stringify({ path: "a.txt", edits: Array.from({ length: 30 }, () => ({ old_text: "a", new_text: "b" })) }))).toBe(false);
});
