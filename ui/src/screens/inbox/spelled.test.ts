import { expect, test } from "vitest";
import { visible } from "../../model/visible";
import { spelled } from "./spelled";

test("nothing of what will run is taken out", () => {
  // An operating system command of a terminal without an end would swallow the rest of the line.
  expect(spelled("true \u001b]0; rm -rf ~")).toBe("true ⟨U+001B⟩]0; rm -rf ~");
  expect(spelled("a\rb")).toBe("a⟨U+000D⟩b");
  expect(spelled("one\n\ttwo three")).toBe("one\n\ttwo three");
});

test("what cannot be seen is named", () => {
  expect(spelled("a\u202eb\u200dc\u00add\u00a0e\u3164f\u2800g\u2028h\u{e0041}")).toBe(
    "a⟨U+202E⟩b⟨U+200D⟩c⟨U+00AD⟩d⟨U+00A0⟩e⟨U+3164⟩f⟨U+2800⟩g⟨U+2028⟩h⟨U+E0041⟩",
  );
});

test("the parts that show it take nothing more out", () => {
  const text = spelled("true \u001b]0; rm\u0007 \u009b31m\r\n\u202e");
  expect(visible(text)).toBe(text);
});
