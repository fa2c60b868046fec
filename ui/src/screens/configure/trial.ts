// A run that tries a configuration out, from its events as they come. The outputs at its end take the place of what was gathered.
import type { AnyEvent, EventData } from "../../api/events";
import { ranFor } from "../../model/states";

export interface Step {
  call: string;
  tool: string;
  args: unknown;
  verdict?: { decision: "allow" | "ask" | "deny"; rule: string };
  observation?: string;
  resolution?: string;
  elapsed_ms?: number;
  error?: string;
}

export interface Outputs {
  final_answer: string;
  finish_reason: string;
  trace: { step: number; action: { tool: string; args: unknown }; observation: string; elapsed_ms: number; error?: string }[];
  used_tools: Record<string, { count: number; total_ms: number }>;
}

export interface Trial {
  trace: string | null;
  steps: Step[];
  /** What the model is writing at this moment. */
  writing: string;
  outputs: Outputs | null;
}

export function newTrial(): Trial {
  return { trace: null, steps: [], writing: "", outputs: null };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Takes an event in. */
export function take(trial: Trial, event: AnyEvent): void {
  if (typeof event.trace_id === "string") trial.trace ??= event.trace_id;
  const step = (call: string): Step | undefined => trial.steps.find((one) => one.call === call);
  switch (event.type) {
    case "assistant_delta":
      trial.writing += (event.data as EventData["assistant_delta"]).text;
      break;
    case "model_request":
    case "model_response":
      trial.writing = "";
      break;
    case "action_planned": {
      const { call, tool, arguments: args } = event.data as EventData["action_planned"];
      trial.steps.push({ call, tool, args: json(args) });
      break;
    }
    case "action_validated": {
      const { call, verdict } = event.data as EventData["action_validated"];
      const one = step(call);
      if (one !== undefined) one.verdict = { decision: verdict.decision, rule: verdict.rule };
      break;
    }
    case "observation_recorded": {
      const data = event.data as EventData["observation_recorded"];
      const one = step(data.call);
      if (one === undefined) break;
      one.resolution = data.resolution;
      const ms = ranFor(data.resolution, data.elapsed_ms ?? 0);
      if (ms !== null) one.elapsed_ms = ms;
      const texts = (data.output?.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
      one.observation = texts.join("\n");
      const error = data.output?.error ?? data.problem ?? data.reason;
      if (typeof error === "string") one.error = error;
      break;
    }
    case "result": {
      const { outputs } = event as unknown as { outputs: { agent_core: Outputs } };
      trial.outputs = outputs.agent_core;
      trial.writing = "";
      break;
    }
  }
}
