import { expect, test } from "vitest";
import zh from "./zh";

/** The texts of a group, those of its groups among them, each with its place. */
function texts(group: unknown, place: string): [string, string][] {
  if (typeof group === "string") return [[place, group]];
  return Object.entries(group as object).flatMap(([name, one]) => texts(one, `${place}.${name}`));
}

test("states, verdicts and reasons are in Chinese on a Chinese page", () => {
  const { common, run, runs, inbox, compare, configure } = zh;
  const { state, decision, resolution, outcome, reason, figure } = common;
  const words = texts(
    {
      ...{ state, decision, resolution, outcome, reason, figure },
      ...{ then: run.events.then, causes: run.note.causes, notes: run.call.notes, modes: run.call.modes, goals: run.summary.statuses },
      ...{ runs: runs.statuses, fate: inbox.fate, verdict: compare.verdict, files: compare.file },
      ...{ layer: configure.layer, standing: configure.standing, status: configure.status, effect: configure.effect },
    },
    "zh",
  );
  // A trace is called so in Chinese too.
  expect(words.filter(([, text]) => /[A-Za-z]/.test(text.replace(/ trace\b/, "")))).toEqual([]);
});
