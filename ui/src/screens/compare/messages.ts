// Messages of two runs beside each other.

export interface Said {
  sequence: number;
  role: string;
  text: string;
}

interface ToolCall {
  function?: { name?: string; arguments?: string };
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}

function text(content: unknown): string {
  if (typeof content === "string") return content;
  if (typeof content !== "object" || content === null) return JSON.stringify(content) ?? "";
  const { text: words, tool_calls: calls, tool_name: tool, result } = content as Record<string, unknown>;
  if (typeof tool === "string") return `${tool} →\n${typeof result === "string" ? result : JSON.stringify(result, null, 2)}`;
  if (typeof words !== "string") return JSON.stringify(content, null, 2);
  const called = (Array.isArray(calls) ? (calls as ToolCall[]) : []).map(
    ({ function: f }) => `→ ${f?.name ?? ""} ${pretty(f?.arguments ?? "")}`,
  );
  return [...(words === "" ? [] : [words]), ...called].join("\n\n");
}

export function said(message: Record<string, unknown>): Said {
  return { sequence: Number(message["sequence"]), role: String(message["role"]), text: text(message["content"]) };
}

export interface Row {
  at: number;
  a?: Said;
  b?: Said;
  isSame: boolean;
}

/** The messages after the common beginning, the first beside the first. */
export function rows(a: readonly Record<string, unknown>[], b: readonly Record<string, unknown>[]): Row[] {
  return Array.from({ length: Math.max(a.length, b.length) }, (_, at) => {
    const [left, right] = [a[at], b[at]];
    const row: Row = { at, isSame: false };
    if (left !== undefined) row.a = said(left);
    if (right !== undefined) row.b = said(right);
    row.isSame = row.a !== undefined && row.a.role === row.b?.role && row.a.text === row.b.text;
    return row;
  });
}
