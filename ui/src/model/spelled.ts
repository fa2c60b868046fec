// The text of a call that somebody is to approve: every character that cannot be seen is named, and nothing is taken out.
// What is only read may lose its escape sequences; what will run may not.

// Line ends, tabs and plain spaces are what they look like; every other control, format or blank character is not.
const UNSEEN = /[^\S \t\n]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

// A word, and the letters that pass for Latin ones in it: those of scripts that share their forms, some of Greek, wide letters, and
// letters for formulas.
const WORD = /\p{L}[\p{L}\p{M}]*/gu;
const LOOKALIKE =
  /[\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοικνρυ\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}]/gu;
// More marks than these cover what stands around their letter.
const MARKS = /(\p{M}{4})(\p{M}+)/gu;

/** A name in a text, and the first character of a name. */
const NAME = /⟨U\+([0-9A-F]{4,6})⟩/g;
const OPENING = /⟨(?=U\+[0-9A-F]{4,6}⟩)/g;

function named(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text with every character named that could hide, reorder or pass for another. */
export function spelled(text: string): string {
  return text
    .replace(WORD, (word) => (/[A-Za-z]/.test(word) ? word.replace(LOOKALIKE, named) : word))
    .replace(MARKS, (_, first: string, more: string) => first + Array.from(more, named).join(""))
    .replace(UNSEEN, (character) => {
      return character === "\n" || character === "\t" ? character : named(character);
    });
}

/** The text for an editor: spelled, with literal text that looks like a name escaped. `meant` gives the text back. */
export function editable(text: string): string {
  return spelled(text.replace(OPENING, named));
}

/** What a text that was edited means: each name is its character again. */
export function meant(text: string): string {
  return text.replace(NAME, (name, code: string) => {
    const number = parseInt(code, 16);
    return number <= 0x10ffff ? String.fromCodePoint(number) : name;
  });
}
