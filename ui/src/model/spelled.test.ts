import { expect, test } from "vitest";
import { visible } from "./visible";
import { editable, meant, spelled } from "./spelled";

test("letters that pass for Latin ones in a word of these are named, and marks that cover others", () => {
  expect(spelled("rm \u0440\u0430\u0443\u0440\u0430l \uff45vil.sh")).toBe(
    "rm ⟨U+0440⟩⟨U+0430⟩⟨U+0443⟩⟨U+0440⟩⟨U+0430⟩l ⟨U+FF45⟩vil.sh",
  );
  expect(spelled(`a${"\u0301".repeat(6)}b`)).toBe(`a${"\u0301".repeat(4)}⟨U+0301⟩⟨U+0301⟩b`);
  const plain = "Привет git提交 ИТ-department Δt e\u0301 שלום";
  expect(spelled(plain)).toBe(plain);
  expect(meant(editable("\u0440l"))).toBe("\u0440l");
});

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

test("what is edited is shown once, with what cannot be seen named, and means the same", () => {
  expect(editable("echo \u202eevil\u200d > d.txt")).toBe("echo ⟨U+202E⟩evil⟨U+200D⟩ > d.txt");
  expect(editable("one\n\ttwo")).toBe("one\n\ttwo");
  const texts = [
    "echo \u202eevil\u200d > d.txt",
    "a\r\nb\u0000c\u{e0041}👍",
    // It only looks like a name.
    "print ⟨U+202E⟩ and ⟨U+27E8⟩U+202E⟩ and ⟨U+ZZ⟩ and ⟨",
    "⟨⟨U+0041⟩⟩ ⟨U+110000⟩ ⟨U+\u200b0041⟩",
    "\ud800 alone",
  ];
  for (const text of texts) expect(meant(editable(text))).toBe(text);
});

test("a name that somebody writes is its character", () => {
  expect(meant("a⟨U+200B⟩b")).toBe("a\u200bb");
  expect(meant("⟨U+110000⟩ ⟨U+41⟩ ⟨u+0041⟩")).toBe("⟨U+110000⟩ ⟨U+41⟩ ⟨u+0041⟩");
});
