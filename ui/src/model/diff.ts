// Differences of texts, line by line.

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
}

/** Beyond this many comparisons a difference is shown as all removed and all added. */
const MOST_COMPARISONS = 4_000_000;

function lines(text: string): string[] {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  return all;
}

/** The longest common part of two lists, as a table of lengths from each place on. */
function common(a: string[], b: string[]): Uint32Array {
  const width = b.length + 1;
  const table = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const down = table[(i + 1) * width + j] ?? 0;
      const right = table[i * width + j + 1] ?? 0;
      table[i * width + j] = a[i] === b[j] ? (table[(i + 1) * width + j + 1] ?? 0) + 1 : Math.max(down, right);
    }
  }
  return table;
}

/** The difference from one text to another. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = lines(before);
  const b = lines(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;

  const removed = a.slice(head, a.length - tail);
  const added = b.slice(head, b.length - tail);
  const result: DiffLine[] = a.slice(0, head).map((text) => ({ kind: "same", text }));
  if ((removed.length + 1) * (added.length + 1) > MOST_COMPARISONS) {
    removed.forEach((text) => result.push({ kind: "removed", text }));
    added.forEach((text) => result.push({ kind: "added", text }));
  } else {
    const table = common(removed, added);
    const width = added.length + 1;
    let i = 0;
    let j = 0;
    while (i < removed.length || j < added.length) {
      if (i < removed.length && j < added.length && removed[i] === added[j]) {
        result.push({ kind: "same", text: removed[i] ?? "" });
        i++;
        j++;
      } else if (i < removed.length && (j >= added.length || (table[(i + 1) * width + j] ?? 0) >= (table[i * width + j + 1] ?? 0))) {
        result.push({ kind: "removed", text: removed[i++] ?? "" });
      } else {
        result.push({ kind: "added", text: added[j++] ?? "" });
      }
    }
  }
  a.slice(a.length - tail).forEach((text) => result.push({ kind: "same", text }));
  return result;
}

/** A difference with no more than a few unchanged lines around each change; what is left out is one `gap` that says how many. */
export function around(diff: DiffLine[], context = 3): DiffLine[] {
  const near = new Set<number>();
  diff.forEach((line, at) => {
    if (line.kind !== "same") for (let k = at - context; k <= at + context; k++) near.add(k);
  });
  const result: DiffLine[] = [];
  let left = 0;
  diff.forEach((line, at) => {
    if (near.has(at)) {
      if (left > 0) result.push({ kind: "gap", text: String(left) });
      left = 0;
      result.push(line);
    } else {
      left++;
    }
  });
  if (left > 0) result.push({ kind: "gap", text: String(left) });
  return result;
}

/** A unified diff inside a text, such as the result of `edit_text_file`; null where there is none. */
export function unified(text: string): { before: string; lines: DiffLine[] } | null {
  const all = text.split("\n");
  const start = all.findIndex((line) => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/.test(line));
  if (start < 0) return null;
  const kinds: Record<string, DiffLine["kind"]> = { " ": "same", "+": "added", "-": "removed", "\\": "gap" };
  const result: DiffLine[] = [];
  for (const line of all.slice(start)) {
    if (line.startsWith("@@")) result.push({ kind: "gap", text: line });
    else {
      const kind = kinds[line[0] ?? " "];
      if (kind === undefined) return null;
      result.push({ kind, text: line.slice(1) });
    }
  }
  return { before: all.slice(0, start).join("\n"), lines: result };
}

/** All that a unified diff says: what stands before its first change, such as modes of a file, is a `gap` for each line. */
export function whole(text: string): DiffLine[] {
  const found = unified(text);
  const head = found === null ? text : found.before;
  return [...head.split("\n").filter((line) => line !== "").map((line) => ({ kind: "gap" as const, text: line })), ...(found?.lines ?? [])];
}
