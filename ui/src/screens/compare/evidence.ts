// What the logs of two runs say of verdicts and files.
import type { EventData, FileState } from "../../api/events";

export interface Evidence {
  verdicts: { allow: number; ask: number; deny: number };
  /** Each file that was changed, and what it was after the last change. */
  files: Map<string, FileState>;
  /** Whether the log is longer than what was read. */
  isCut: boolean;
}

export function empty(): Evidence {
  return { verdicts: { allow: 0, ask: 0, deny: 0 }, files: new Map(), isCut: false };
}

/** Takes an event in. */
export function note(evidence: Evidence, event: Record<string, unknown>): void {
  if (event["type"] === "action_validated") {
    const { verdict } = event["data"] as EventData["action_validated"];
    evidence.verdicts[verdict.decision] += 1;
  }
  if (event["type"] === "files_kept" || event["type"] === "files_restored") {
    const { changes } = event["data"] as EventData["files_kept"];
    for (const change of changes) evidence.files.set(change.path, change.after);
  }
}

export interface FileRow {
  path: string;
  a?: FileState;
  b?: FileState;
  is: "onlyA" | "onlyB" | "same" | "differs";
}

function isSame(a: FileState, b: FileState): boolean {
  const hash = (state: FileState): string => ("hash" in state ? state.hash : "");
  return a.is === b.is && a.is !== "unknown" && hash(a) === hash(b);
}

/** The files that either has changed, and whether they ended alike. */
export function files(a: Evidence, b: Evidence): FileRow[] {
  const paths = [...new Set([...a.files.keys(), ...b.files.keys()])].sort();
  return paths.map((path): FileRow => {
    const [left, right] = [a.files.get(path), b.files.get(path)];
    if (left === undefined) return { path, is: "onlyB", ...(right === undefined ? {} : { b: right }) };
    if (right === undefined) return { path, is: "onlyA", a: left };
    return { path, a: left, b: right, is: isSame(left, right) ? "same" : "differs" };
  });
}
