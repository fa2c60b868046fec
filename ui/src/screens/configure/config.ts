// The configuration of an agent that other programs call (docs/agent-core.md): what a person writes, what is wrong with it, and its JSON.

/** The numbers, with what they may be and what holds where none is given. */
export const NUMBERS = {
  temperature: { least: 0, most: 2, isWhole: false, fallback: 0.7, isRequired: false },
  max_steps: { least: 1, most: 4294967295, isWhole: true, fallback: null, isRequired: true },
  max_tool_calls: { least: 1, most: 4294967295, isWhole: true, fallback: 10, isRequired: false },
  timeout: { least: 1, most: 4294967295, isWhole: true, fallback: 120, isRequired: false },
  single_call_timeout: { least: 1, most: 4294967295, isWhole: true, fallback: 30, isRequired: false },
  total_token_budget: { least: 0, most: Number.MAX_SAFE_INTEGER, isWhole: true, fallback: 0, isRequired: false },
  observation_max_len: { least: 1, most: 4294967295, isWhole: true, fallback: 256, isRequired: false },
} as const;

export type NumberField = keyof typeof NUMBERS;
export const NUMBER_FIELDS = Object.keys(NUMBERS) as NumberField[];
const FIELDS = new Set<string>(["model", "allowed_tools", "primary_output", ...NUMBER_FIELDS]);

/** What a person has written; an empty number is not given. */
export interface Draft {
  model: string;
  tools: string[];
  numbers: Record<NumberField, string>;
}

export interface Config extends Partial<Record<NumberField, number>> {
  model: string;
  allowed_tools: string[];
  primary_output: "final_answer";
}

/** What is wrong with a field. */
export interface Wrong {
  is: "required" | "number" | "whole" | "least" | "most";
  n?: number;
}

export function newDraft(): Draft {
  const numbers = Object.fromEntries(NUMBER_FIELDS.map((name) => [name, ""])) as Draft["numbers"];
  return { model: "", tools: [], numbers: { ...numbers, max_steps: "5" } };
}

function checked(name: NumberField, text: string): number | undefined | Wrong {
  const { least, most, isWhole, isRequired } = NUMBERS[name];
  if (text.trim() === "") return isRequired ? { is: "required" } : undefined;
  const n = Number(text);
  if (!Number.isFinite(n)) return { is: "number" };
  if (isWhole && !Number.isInteger(n)) return { is: "whole" };
  if (n < least) return { is: "least", n: least };
  return n > most ? { is: "most", n: most } : n;
}

/** The configuration, or what is wrong with each field. */
export function read(draft: Draft): { config: Config | null; wrong: Map<string, Wrong> } {
  const wrong = new Map<string, Wrong>();
  const config: Config = { model: draft.model.trim(), allowed_tools: [...draft.tools], primary_output: "final_answer" };
  if (config.model === "") wrong.set("model", { is: "required" });
  for (const name of NUMBER_FIELDS) {
    const value = checked(name, draft.numbers[name]);
    if (typeof value === "number") config[name] = value;
    else if (value !== undefined) wrong.set(name, value);
  }
  return { config: wrong.size === 0 ? config : null, wrong };
}

/** The configuration as a file. */
export function written(config: Config): string {
  const { model, max_steps, allowed_tools, primary_output, ...rest } = config;
  return `${JSON.stringify({ model, ...rest, max_steps, allowed_tools, primary_output }, null, 2)}\n`;
}

/** A draft from a configuration that is a file somewhere; unknown and unusable fields are named. */
export function opened(text: string): { draft: Draft; unknown: string[] } | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const given = ("config" in value && typeof value.config === "object" && value.config !== null ? value.config : value) as Record<string, unknown>;
  const draft = newDraft();
  draft.numbers.max_steps = "";
  const unknown = Object.keys(given).filter((name) => !FIELDS.has(name));
  if (typeof given["model"] === "string") draft.model = given["model"];
  const tools = given["allowed_tools"];
  if (Array.isArray(tools)) draft.tools = tools.filter((tool) => typeof tool === "string");
  for (const name of NUMBER_FIELDS) {
    const n = given[name];
    if (n !== undefined && n !== null) draft.numbers[name] = String(n);
  }
  return { draft, unknown };
}

/** The same as a preset of this installation: a Markdown file with front matter. */
export function preset(config: Config, name: string): string {
  const lines = [
    `name: ${JSON.stringify(name)}`,
    `model: ${JSON.stringify(config.model)}`,
    `tools: ${JSON.stringify(config.allowed_tools)}`,
    `max_turns: ${config.max_steps}`,
    ...(config.max_tool_calls === undefined ? [] : [`max_calls: ${config.max_tool_calls}`]),
    ...(config.total_token_budget === undefined || config.total_token_budget === 0 ? [] : [`max_tokens: ${config.total_token_budget}`]),
    ...(config.timeout === undefined ? [] : [`timeout: ${config.timeout}s`]),
    ...(config.temperature === undefined ? [] : [`temperature: ${config.temperature}`]),
  ];
  return `---\n${lines.join("\n")}\n---\n`;
}
