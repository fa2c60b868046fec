// A request as it was sent, read for people: every vendor's form has a system text, tools and messages, in that order for the model.

export type Block =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "call"; name: string; arguments: unknown }
  | { kind: "result"; name: string; text: string; isError: boolean }
  | { kind: "media"; type: string; bytes: number | null; address: string | null }
  | { kind: "other"; value: unknown };

export interface SentMessage {
  role: string;
  blocks: Block[];
}

export interface SentTool {
  name: string;
  description: string;
  schema: unknown;
}

export interface Sent {
  system: string;
  tools: SentTool[];
  messages: SentMessage[];
  /** The other fields: temperature, limits and the like. */
  settings: Record<string, unknown>;
}

type Fields = Record<string, unknown>;

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

function string(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** What a value says: texts of it where it is a list of parts, else its JSON. */
function said(value: unknown): string {
  if (typeof value === "string") return value;
  const texts = list(value).map((one) => (typeof one === "string" ? one : fields(one)["text"]));
  if (texts.every((one) => typeof one === "string")) return texts.join("\n\n");
  return JSON.stringify(value, null, 2);
}

/** How many bytes Base64 text stands for. */
function decoded(text: string): number {
  return Math.floor((text.replace(/=+$/, "").length * 3) / 4);
}

/** A picture, document or sound, if the value is one in any vendor's form. */
function media(one: Fields): Block | null {
  const { type } = one;
  const source = fields(one["source"]);
  const inline = fields(one["inlineData"] ?? one["fileData"] ?? source["base64"] ?? (typeof source["url"] === "object" ? source["url"] : source));
  const nested = fields(one["image_url"])["url"] ?? one["image_url"] ?? one["file_data"] ?? one["file_url"] ?? fields(one["file"])["file_data"];
  const sound = fields(one["input_audio"]);
  const data = string(inline["data"] ?? sound["data"]);
  const link = string(inline["url"] ?? inline["fileUri"] ?? nested);
  if (data === "" && link === "") return null;
  const embedded = /^data:([^;,]*);base64,/.exec(link);
  const kind = string(inline["media_type"] ?? inline["mimeType"] ?? sound["format"]) || (embedded?.[1] ?? string(type));
  if (embedded !== null) return { kind: "media", type: kind, bytes: decoded(link.slice(embedded[0].length)), address: null };
  return { kind: "media", type: kind, bytes: data === "" ? null : decoded(data), address: link === "" ? null : link };
}

function result(name: unknown, value: unknown, isError: boolean): Block[] {
  const parts = Array.isArray(value) ? value.map(fields) : [];
  const pictures = parts.flatMap((part) => media(part) ?? []);
  const rest = pictures.length > 0 ? parts.filter((part) => media(part) === null) : value;
  return [{ kind: "result", name: string(name), text: said(rest ?? ""), isError }, ...pictures];
}

function blocks(value: unknown): Block[] {
  if (typeof value === "string") return value === "" ? [] : [{ kind: "text", text: value }];
  const one = fields(value);
  const called = fields(one["functionCall"] ?? one["function"]);
  const answered = fields(one["functionResponse"]);
  if ("name" in called) return [{ kind: "call", name: string(called["name"]), arguments: parsed(called["args"] ?? called["arguments"]) }];
  if ("name" in answered) {
    const { output, error } = fields(answered["response"]);
    const pictures = list(answered["parts"]).flatMap((part) => media(fields(part)) ?? []);
    return [...result(answered["name"], output ?? error ?? answered["response"], error !== undefined), ...pictures];
  }
  switch (one["type"]) {
    case "tool_use":
    case "tool_call":
    case "function_call":
      return [{ kind: "call", name: string(one["name"]), arguments: parsed(one["input"] ?? one["arguments"]) }];
    case "tool_result":
      return result(one["name"] ?? one["tool_use_id"], one["content"], one["is_error"] === true);
    case "function_call_output":
      return result(one["call_id"], one["output"], false);
    case "thinking":
      return [{ kind: "reasoning", text: string(one["thinking"] ?? one["text"]) }];
    case "reasoning":
      return [{ kind: "reasoning", text: said(one["summary"] ?? []) }];
    case "refusal":
      return [{ kind: "text", text: string(one["refusal"]) }];
    default: {
      if (typeof one["text"] === "string") return [one["thought"] === true ? { kind: "reasoning", text: one["text"] } : { kind: "text", text: one["text"] }];
      return [media(one) ?? { kind: "other", value }];
    }
  }
}

/** The vendors' words for who speaks, as one. */
const ROLES: Record<string, string> = { model: "assistant", developer: "system", function: "tool" };

function message(value: unknown): SentMessage {
  const one = fields(value);
  const role = string(one["role"]);
  if (role === "") {
    const found = blocks(one);
    const isModels = found.some((block) => block.kind === "call" || block.kind === "reasoning");
    return { role: isModels ? "assistant" : "tool", blocks: found };
  }
  if (role === "tool" && one["parts"] === undefined) return { role, blocks: result(one["name"] ?? one["tool_call_id"], one["content"], false) };
  const thought = string(one["reasoning_content"] ?? one["reasoning"]);
  return {
    role: ROLES[role] ?? role,
    blocks: [
      ...(thought === "" ? [] : [{ kind: "reasoning" as const, text: thought }]),
      ...list(one["content"] ?? one["parts"]).flatMap(blocks),
      ...list(one["tool_calls"]).flatMap(blocks),
    ],
  };
}

function tools(value: unknown): SentTool[] {
  return list(value).flatMap((one) => {
    const declared = fields(one)["functionDeclarations"];
    if (declared !== undefined) return tools(declared);
    const tool = fields(fields(one)["function"] ?? one);
    const schema = tool["input_schema"] ?? tool["parameters"] ?? tool["parametersJsonSchema"] ?? {};
    return [{ name: string(tool["name"] ?? tool["type"]), description: string(tool["description"]), schema }];
  });
}

const READ = new Set(["system", "systemInstruction", "instructions", "tools", "messages", "contents", "input", "head"]);

export function readSent(body: Fields): Sent {
  const all = { ...fields(body["head"]), ...body };
  const instruction = fields(all["systemInstruction"])["parts"];
  const messages = list(all["messages"] ?? all["contents"] ?? all["input"]).map(message);
  const system = [said(all["system"] ?? instruction ?? all["instructions"] ?? "")];
  // Some vendors have the system text as the first message.
  while (messages[0]?.role === "system") {
    system.push(...(messages.shift()?.blocks ?? []).map((block) => (block.kind === "text" ? block.text : JSON.stringify(block))));
  }
  return {
    system: system.filter((text) => text !== "").join("\n\n"),
    tools: tools(all["tools"]),
    messages,
    settings: Object.fromEntries(Object.entries(all).filter(([name]) => !READ.has(name))),
  };
}

/** How many of the parts, in their order, lay within what the vendor had kept: it keeps a beginning. By the parts' estimates. */
export function keptParts(tokens: readonly number[], cached: number, all: number): number {
  const estimated = tokens.reduce((sum, one) => sum + one, 0);
  let left = all > 0 ? (cached / all) * estimated : 0;
  let kept = 0;
  for (const one of tokens) {
    left -= one;
    // A part of which nearly nothing is missing counts: sizes are estimates.
    if (left < -one / 10) break;
    kept += 1;
  }
  return cached > 0 ? kept : 0;
}
