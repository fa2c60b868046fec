// The text of a call that somebody is to approve: every character that cannot be seen is named, and nothing is taken out.
// What is only read may lose its escape sequences; what will run may not.

// Line ends, tabs and plain spaces are what they look like; every other control, format or blank character is not.
const UNSEEN = /[^\S \t\n]|[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** The text with every character named that could hide, reorder or pass for another. */
export function spelled(text: string): string {
  return text.replace(UNSEEN, (character) => {
    if (character === "\n" || character === "\t") return character;
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}
