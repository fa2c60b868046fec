import { expect, test } from "vitest";
import { empty, files, note } from "./evidence";
import { figures, tools, type Side } from "./figures";
import { rows } from "./messages";

function side(ran: Record<string, number>): Side {
  const stats = Object.fromEntries(Object.entries(ran).map(([tool, n]) => [tool, { ran: n, denied: 1, errors: { timeout: 2 } }]));
  return {
    trace_id: "t",
    messages: [],
    meta: { total_cost_micros: 12, total_prompt_tokens: 100, total_completion_tokens: 5, total_messages: 3 },
    runs: [{ ms: 40, turns: { count: 2 }, models: { m: { requests: 2 } }, tools: stats }],
  } as unknown as Side;
}

test("figures are sums over runs and tools", () => {
  const all = figures(side({ bash: 3, grep: 1 }));
  expect(all).toMatchObject({ cost_micros: 12, turns: 2, requests: 2, calls: 4, failed: 4, denied: 2, ms: 40, input: 100, output: 5 });
  expect(tools(side({ bash: 3 }), side({ bash: 3, grep: 2 }))).toEqual([
    { tool: "grep", a: 0, b: 2 },
    { tool: "bash", a: 3, b: 3 },
  ]);
});

test("rows go on where one side is shorter, and say what is alike again", () => {
  const message = (sequence: number, content: unknown, role = "user") => ({ sequence, role, content });
  const all = rows([message(3, "a"), message(4, "same")], [message(5, "b"), message(6, "same"), message(7, "more")]);
  expect(all.map((row) => [row.a?.text, row.b?.text, row.isSame])).toEqual([
    ["a", "b", false],
    ["same", "same", true],
    [undefined, "more", false],
  ]);
});

test("calls and results are said in words", () => {
  const call = { text: "I look.", tool_calls: [{ function: { name: "grep", arguments: '{"a":1}' } }] };
  const [row] = rows([{ sequence: 1, role: "assistant", content: call }], [{ sequence: 1, role: "tool", content: { tool_name: "grep", result: "none" } }]);
  expect(row?.a?.text).toBe('I look.\n\n→ grep {\n  "a": 1\n}');
  expect(row?.b?.text).toBe("grep →\nnone");
});

test("files are compared by what they ended as", () => {
  const file = (hash: string) => ({ is: "file", hash, bytes: 1, mode: 420 });
  const kept = (path: string, hash: string) => ({ type: "files_kept", data: { changes: [{ path, before: { is: "absent" }, after: file(hash) }] } });
  const [a, b] = [empty(), empty()];
  for (const event of [kept("x", "1"), kept("y", "1"), kept("y", "2"), kept("only", "1")]) note(a, event);
  for (const event of [kept("x", "1"), kept("y", "3")]) note(b, event);
  note(b, { type: "action_validated", data: { call: "1.0", verdict: { decision: "deny", rule: "r", reason: "" } } });
  expect(files(a, b).map((row) => [row.path, row.is])).toEqual([["only", "onlyA"], ["x", "same"], ["y", "differs"]]);
  expect(b.verdicts).toEqual({ allow: 0, ask: 0, deny: 1 });
});
