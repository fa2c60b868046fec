// How the arguments of a call are shown: what it would change as a difference, the rest as fields.
import { around, diffLines, type DiffLine } from "./diff";
import { spelled } from "./spelled";

export interface ShownArguments {
  path: string | null;
  diff: DiffLine[] | null;
  /** A line that says what the call is about. */
  title: string;
}

function fields(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function edits(value: unknown): DiffLine[] | null {
  if (!Array.isArray(value)) return null;
  const lines: DiffLine[] = [];
  for (const edit of value as unknown[]) {
    if (typeof edit !== "object" || edit === null || !("old_text" in edit) || !("new_text" in edit)) return null;
    if (lines.length > 0) lines.push({ kind: "gap", text: "" });
    lines.push(...around(diffLines(String(edit.old_text), String(edit.new_text))));
  }
  return lines;
}

/** The fields that say best what a call is about, first of all. */
const TELLING = ["command", "path", "pattern", "url", "query", "question", "task", "skill", "name", "op"];

export function shownArguments(tool: string, text: string): ShownArguments {
  const value = fields(text);
  const path = typeof value["path"] === "string" ? value["path"] : null;
  const name = TELLING.find((one) => typeof value[one] === "string" || Array.isArray(value[one]));
  const about = name === undefined ? "" : value[name];
  const title = Array.isArray(about) ? about.map(String).join(", ") : String(about);
  let diff: DiffLine[] | null = null;
  if (tool === "edit_text_file") diff = edits(value["edits"]);
  if (tool === "write_text_file" && typeof value["content"] === "string") diff = diffLines("", value["content"]);
  return { path, diff, title };
}

/** Whether all of a call is seen at one look: a few short lines in which nothing is hidden. */
export function isSeenAtOnce(text: string): boolean {
  const said = Object.values(fields(text)).map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  const whole = said.join("\n");
  return text.length <= 400 && whole.split("\n").length <= 8 && spelled(whole) === whole && !/[ \t]{20}/.test(whole);
}
