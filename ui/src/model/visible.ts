// Text of models, tools and files as it may be shown: what would hide, reorder or colour it is taken out or made visible.

// Escape sequences of terminals: CSI, OSC up to its end, and two-byte ones. An OSC without an end takes nothing with it.
// eslint-disable-next-line no-control-regex
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
// C0 and C1 controls but for tab and line feed.
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// What changes the direction of text, or cannot be seen: embeddings, overrides, isolates, marks, zero-width characters, fillers and tags. The
// joiners stay: words of some scripts and pictures need them.
const INVISIBLE = /[\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]/gu;

function named(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text with nothing in it that deceives the eye. Line ends become line feeds. */
export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(ESCAPES, "")
    .replace(CONTROLS, (character) => named(character))
    .replace(INVISIBLE, (character) => named(character));
}

/** The beginning of a text, never in the middle of a character. */
export function beginning(text: string, most: number): string {
  if (text.length <= most) return text;
  const last = text.charCodeAt(most - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? most - 1 : most);
}

/** The beginning of the first line that says something; an ellipsis says where it goes on. */
export function headline(text: string, most = 200): string {
  const line = beginning(text, 4 * most)
    .split("\n")
    .find((one) => one.trim() !== "");
  const said = (line ?? "").trim();
  return visible(said.length > most ? `${beginning(said, most)}…` : said);
}
