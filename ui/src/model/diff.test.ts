import { expect, test } from "vitest";
import { around, diffLines, unified, whole } from "./diff";

const text = (lines: { kind: string; text: string }[]) => lines.map((line) => `${line.kind[0]}:${line.text}`);

test("a difference has what was removed, added and kept, in order", () => {
  expect(text(diffLines("a\nb\nc\nd\n", "a\nB\nc\nx\nd\n"))).toEqual(["s:a", "r:b", "a:B", "s:c", "a:x", "s:d"]);
  expect(text(diffLines("", "new\n"))).toEqual(["a:new"]);
  expect(diffLines("same\n", "same\n")).toEqual([{ kind: "same", text: "same" }]);
});

test("both sides can be read back from any difference", () => {
  let seed = 7;
  const next = (n: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 200; round++) {
    const a = Array.from({ length: next(12) }, () => "abc"[next(3)]).join("\n");
    const b = Array.from({ length: next(12) }, () => "abc"[next(3)]).join("\n");
    const diff = diffLines(a, b);
    expect(diff.filter((line) => line.kind !== "added").map((line) => line.text).join("\n")).toBe(a);
    expect(diff.filter((line) => line.kind !== "removed").map((line) => line.text).join("\n")).toBe(b);
  }
});

test("what has not changed is left out but for a few lines", () => {
  const before = Array.from({ length: 20 }, (_, n) => `${n}`).join("\n");
  expect(text(around(diffLines(before, before.replace("\n10\n", "\nten\n")), 1))).toEqual(["g:9", "s:9", "r:10", "a:ten", "s:11", "g:8"]);
});

test("a unified diff in a result is found", () => {
  const found = unified("Made 1 edit.\n@@ -1,2 +1,2 @@\n # Hello\n-hello world\n+hello all");
  expect(found?.before).toBe("Made 1 edit.");
  expect(text(found?.lines ?? [])).toEqual(["g:@@ -1,2 +1,2 @@", "s:# Hello", "r:hello world", "a:hello all"]);
  expect(unified("no diff here")).toBeNull();
});

test("of a diff with modes before its changes all is kept", () => {
  expect(text(whole("old mode 644\nnew mode 755\n@@ -1,1 +1,1 @@\n-a\n+b"))).toEqual(["g:old mode 644", "g:new mode 755", "g:@@ -1,1 +1,1 @@", "r:a", "a:b"]);
  expect(text(whole("old mode 644\nnew mode 755"))).toEqual(["g:old mode 644", "g:new mode 755"]);
  expect(whole("")).toEqual([]);
});
