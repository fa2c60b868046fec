// A call as blocks of text to be read before it is approved: all of it, in order, with nothing folded away.
import { diffLines, type DiffLine } from "../../model/diff";
import { beginning } from "../../model/visible";
import { spelled } from "../../model/spelled";

export type Block =
  | { is: "line"; name: string; text: string }
  | { is: "text"; name: string; text: string; language: string }
  | { is: "diff"; name: string; lines: DiffLine[]; path: string };

/** A diff shows so many lines and so much of a line; what is larger is shown as two texts. */
const MOST_LINES = 400;
const LONGEST_LINE = 2000;

interface Edit {
  old_text: string;
  new_text: string;
}

function isEdit(value: unknown): value is Edit {
  if (typeof value !== "object" || value === null) return false;
  const keys = Object.keys(value).sort().join();
  return keys === "new_text,old_text" && Object.values(value).every((text) => typeof text === "string");
}

function language(name: string, path: string): string {
  if (name === "command") return "bash";
  return name === "content" ? (/\.([A-Za-z0-9]+)$/.exec(path)?.[1]?.toLowerCase() ?? "") : "";
}

function edited(name: string, edit: Edit, path: string): Block[] {
  const [before, after] = [spelled(edit.old_text), spelled(edit.new_text)];
  const lines = diffLines(before, after);
  if (lines.length <= MOST_LINES && lines.every((line) => line.text.length <= LONGEST_LINE)) {
    return [{ is: "diff", name, lines, path: spelled(path) }];
  }
  return [
    { is: "text", name: `${name}.old_text`, text: before, language: "" },
    { is: "text", name: `${name}.new_text`, text: after, language: "" },
  ];
}

/** The arguments of a call, whole; the short ones first. */
export function blocks(args: unknown): Block[] {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    return [{ is: "text", name: "arguments", text: spelled(JSON.stringify(args, null, 2) ?? ""), language: "json" }];
  }
  const fields = Object.entries(args);
  const path = fields.find(([name, value]) => name === "path" && typeof value === "string")?.[1];
  const all = fields.flatMap(([name, value]): Block[] => {
    if (name === "edits" && Array.isArray(value) && value.every(isEdit)) {
      return value.flatMap((edit, at) => edited(`edits[${at}]`, edit, typeof path === "string" ? path : ""));
    }
    const isText = typeof value === "string";
    const text = spelled(isText ? value : JSON.stringify(value, null, 2));
    const inOneLine = !text.includes("\n") && text.length <= 200 && name !== "command" && name !== "content";
    if (inOneLine) return [{ is: "line", name: spelled(name), text }];
    return [{ is: "text", name: spelled(name), text, language: isText ? language(name, typeof path === "string" ? path : "") : "json" }];
  });
  return [...all.filter((block) => block.is === "line"), ...all.filter((block) => block.is !== "line")];
}

function size(block: Block): number {
  return block.is === "diff" ? block.lines.reduce((sum, line) => sum + line.text.length + 1, 0) : block.text.length;
}

/** The blocks up to so many characters; the last one is cut where it is too long. */
export function firstBlocks(all: readonly Block[], most: number): { shown: Block[]; left: number } {
  const shown: Block[] = [];
  let room = most;
  for (const block of all) {
    if (room <= 0) break;
    if (block.is === "text" && block.text.length > room) shown.push({ ...block, text: beginning(block.text, room) });
    else shown.push(block);
    room -= size(block);
  }
  const sum = (list: readonly Block[]): number => list.reduce((so, block) => so + size(block), 0);
  return { shown, left: sum(all) - sum(shown) };
}
