import { expect, test } from "vitest";
import { newDraft, opened, preset, read, written, type Draft } from "./config";
import { newTrial, take } from "./trial";
import { filled, isName, places } from "./variables";

function draft(numbers: Partial<Draft["numbers"]> = {}): Draft {
  const all = newDraft();
  return { model: "openai:gpt", tools: ["read"], numbers: { ...all.numbers, ...numbers } };
}

test("what is not given is not written, and every wrong field is named", () => {
  expect(read(draft()).config).toEqual({ model: "openai:gpt", allowed_tools: ["read"], primary_output: "final_answer", max_steps: 5 });
  const { config, wrong } = read({ ...draft({ temperature: "3", max_steps: "", timeout: "1.5", max_tool_calls: "0", total_token_budget: "x" }), model: " " });
  expect(config).toBe(null);
  expect(Object.fromEntries(wrong)).toEqual({
    model: { is: "required" },
    temperature: { is: "most", n: 2 },
    max_steps: { is: "required" },
    timeout: { is: "whole" },
    max_tool_calls: { is: "least", n: 1 },
    total_token_budget: { is: "number" },
  });
});

test("a configuration that is written is opened as it was", () => {
  const all = draft({ temperature: "0.2", total_token_budget: "0" });
  const { config } = read(all);
  if (config === null) throw new Error("not valid");
  expect(opened(written(config))).toEqual({ draft: all, unknown: [] });
  expect(opened('{"config": {"model": "m", "max_step": 3}}')?.unknown).toEqual(["max_step"]);
  expect(opened("{")).toBe(null);
  expect(opened("[]")).toBe(null);
});

test("a preset says the same in its own fields", () => {
  const { config } = read(draft({ timeout: "60", max_tool_calls: "3" }));
  if (config === null) throw new Error("not valid");
  expect(preset(config, "orders: x")).toBe(
    '---\nname: "orders: x"\nmodel: "openai:gpt"\ntools: ["read"]\nmax_turns: 5\nmax_calls: 3\ntimeout: 60s\n---\n',
  );
});

test("places of a prompt are found once and filled in once", () => {
  const text = "For {{external.customer}} in {{ env.REGION }}: {{nodes.prepare.text}}, {{external.customer}}, {{other.x}}, {{nodes.}}";
  expect(places(text)).toEqual(["external.customer", "env.REGION", "nodes.prepare.text"]);
  expect(filled(text, { "external.customer": "{{env.REGION}}", "env.REGION": "EU" })).toBe(
    "For {{env.REGION}} in EU: {{nodes.prepare.text}}, {{env.REGION}}, {{other.x}}, {{nodes.}}",
  );
  expect(filled("{{env.constructor}}", {})).toBe("{{env.constructor}}");
  expect([isName("env", "A_B"), isName("env", "a b"), isName("nodes", "a"), isName("nodes", "a.b")]).toEqual([true, false, false, true]);
});

test("a trial gathers its steps and ends with the outputs", () => {
  const trial = newTrial();
  const stamp = { ts: "", trace_id: "t", run_id: "t/1", turn: 1 };
  const say = (type: string, data: unknown, more: object = {}): void => take(trial, { ...stamp, type, data, ...more });
  say("assistant_delta", { text: '{"type":' });
  expect(trial.writing).toBe('{"type":');
  say("model_response", {});
  say("action_planned", { call: "2.0", tool: "grep", arguments: '{"a":1}' });
  say("action_validated", { call: "2.0", verdict: { decision: "allow", rule: "builtin.read-only", reason: "" } });
  say("observation_recorded", { call: "2.0", resolution: "ok", elapsed_ms: 3, output: { content: [{ type: "text", text: "found" }] } });
  expect(trial).toMatchObject({
    trace: "t",
    writing: "",
    steps: [{ tool: "grep", args: { a: 1 }, observation: "found", resolution: "ok", elapsed_ms: 3, verdict: { decision: "allow", rule: "builtin.read-only" } }],
  });
  say("result", undefined, { outputs: { agent_core: { final_answer: "yes", finish_reason: "final", trace: [], used_tools: {} } } });
  expect(trial.outputs?.final_answer).toBe("yes");
});
