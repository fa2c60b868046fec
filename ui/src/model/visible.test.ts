import { expect, test } from "vitest";
import { beginning, headline, visible } from "./visible";

test("colours and titles of terminals are taken out, other controls are named", () => {
  expect(visible("\u001b[31mred\u001b[0m \u001b]0;title\u0007x\u0008y\r\nz")).toBe("red x⟨U+0008⟩y\nz");
});

test("what reorders text or cannot be seen is named", () => {
  expect(visible("ab\u202Ecd\u200Be\u{e0041}")).toBe("ab⟨U+202E⟩cd⟨U+200B⟩e⟨U+E0041⟩");
  expect(visible("tab\tand\nline é 中 👍")).toBe("tab\tand\nline é 中 👍");
});

test("a beginning ends between characters", () => {
  expect(beginning("ab👍c", 3)).toBe("ab");
  expect(beginning("ab👍c", 4)).toBe("ab👍");
  expect(beginning("abc", 9)).toBe("abc");
});

test("a headline is the first line that says something", () => {
  expect(headline("\n  \n first \n second")).toBe("first");
  expect(headline("x".repeat(5000), 10)).toBe(`${"x".repeat(10)}…`);
  expect(headline("x".repeat(10), 10)).toBe("x".repeat(10));
});
