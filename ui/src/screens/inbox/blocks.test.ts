import { expect, test } from "vitest";
import { blocks, firstBlocks } from "./blocks";

test("a command and a file are texts, an edit is a diff, short values are lines", () => {
  expect(blocks({ command: "ls", timeout_s: 5 })).toEqual([
    { is: "line", name: "timeout_s", text: "5" },
    { is: "text", name: "command", text: "ls", language: "bash" },
  ]);
  const edit = blocks({ path: "a.rs", edits: [{ old_text: "a\nb", new_text: "a\nc" }] });
  expect(edit).toEqual([
    { is: "line", name: "path", text: "a.rs" },
    {
      is: "diff",
      name: "edits[0]",
      path: "a.rs",
      lines: [
        { kind: "same", text: "a" },
        { kind: "removed", text: "b" },
        { kind: "added", text: "c" },
      ],
    },
  ]);
});

test("an edit that a diff would cut is two whole texts", () => {
  const long = "x".repeat(3000);
  expect(blocks({ edits: [{ old_text: "a", new_text: long }] }).map((block) => block.is)).toEqual(["text", "text"]);
  const many = "line\n".repeat(1000);
  expect(blocks({ edits: [{ old_text: "", new_text: many }] }).map((block) => block.is)).toEqual(["text", "text"]);
});

test("an edit with more than the two texts is shown as it is", () => {
  const text = JSON.stringify(blocks({ edits: [{ old_text: "a", new_text: "b", mode: "force" }] }));
  expect(text).toContain("force");
});

test("a beginning says how much is left, and the whole leaves nothing", () => {
  const all = blocks({ command: "x".repeat(1000), more: "y".repeat(500) });
  const first = firstBlocks(all, 300);
  expect(first.left).toBe(1200);
  expect(firstBlocks(all, 1500)).toEqual({ shown: all, left: 0 });
});
