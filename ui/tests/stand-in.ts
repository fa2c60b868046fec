// Stands in for the server in the big-run test: its trace of 50,000 events with 1,000 agents is computed, so that what is measured is the page.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export const TRACE = "20261126-100000-big000";
const CALLS = 3;
/** Events of a turn: its beginning, the answer, a beginning and a result for each call, its end. */
const PER_TURN = 3 + 2 * CALLS;
const CHILDREN = 1000;

interface Event {
  type: string;
  id: number;
  turn: number;
  ts: string;
  trace_id: string;
  run_id: string;
  data: object;
}

function event(id: number, type: string, turn: number, data: object): Event {
  return { type, id, turn, ts: new Date(1_795_000_000_000 + id * 40).toISOString(), trace_id: TRACE, run_id: `${TRACE}/1`, data };
}

/** The published events of one number. The first four begin the run; the first thousand agents are started by the first calls. */
function published(id: number): Event[] {
  if (id <= 4) {
    const first: [string, object][] = [
      ["spec_changed", { spec: { model: "stand-in" } }],
      ["message_queued", { from: "user", mode: "message", parts: [{ type: "text", text: "Read everything." }], tokens: 5 }],
      ["run_started", { run: 1, cause: "new", spec: 1 }],
      ["message_joined", { of: 2, seq: 1 }],
    ];
    const [type, data] = first[id - 1] ?? ["omitted", {}];
    return [event(id, type, 0, data)];
  }
  const turn = Math.floor((id - 5) / PER_TURN) + 1;
  const place = (id - 5) % PER_TURN;
  const seq = 2 + (turn - 1) * (CALLS + 1);
  if (place === 0) return [event(id, "turn_started", turn, {}), event(id, "model_request", turn, { request: turn, head: seq - 1, input: 5000 })];
  if (place === 1) {
    const args = (n: number): string => JSON.stringify({ path: `src/file-${turn}-${n}.rs`, offset: n, limit: 40 });
    const parts = [
      { type: "thinking", text: `Turn ${turn}: what is in the next files?` },
      { type: "text", text: `Turn ${turn}. I read **the next files**:\n\n- one\n- two\n\n\`\`\`rust\nfn main() {}\n\`\`\`` },
      ...Array.from({ length: CALLS }, (_, n) => ({ type: "tool_call", name: "read_text_file", arguments: args(n) })),
    ];
    const verdict = { decision: "allow", rule: "builtin.read-only", reason: "Reading inside the workspace is allowed." };
    return [
      event(id, "model_response", turn, { request: turn, seq, parts, calls: Array.from({ length: CALLS }, () => ({ tool: "read_text_file", verdict })), cost: 1200, counted: true, elapsed_ms: 800, usage: { input: 5000, output: 120 } }),
      ...Array.from({ length: CALLS }, (_, n) => [
        event(id, "action_planned", turn, { call: `${seq}.${n}`, tool: "read_text_file", arguments: args(n) }),
        event(id, "action_validated", turn, { call: `${seq}.${n}`, tool: "read_text_file", verdict }),
      ]).flat(),
    ];
  }
  const call = `${seq}.${(place - 2) % CALLS}`;
  if (place < 2 + CALLS) {
    const nth = (turn - 1) * CALLS + place - 2;
    const child = nth < CHILDREN ? [event(id, "sub_trace_started", turn, { call, child: `${TRACE}@explore-${nth}-001`, mode: "explore", nth: 0, of: 1, task: `Look at part ${nth}` })] : [];
    return [event(id, "action_started", turn, { call, attempt: 1, rule: "builtin.read-only" }), ...child];
  }
  if (place < 2 + 2 * CALLS) {
    const output = { content: [{ type: "text", text: `line of a file, number ${id}\n`.repeat(8) }] };
    return [
      event(id, "action_executed", turn, { call, attempt: 1, resolution: "ok", elapsed_ms: 12, result: { chars: 200 } }),
      event(id, "observation_recorded", turn, { call, attempt: 1, resolution: "ok", elapsed_ms: 12, cause: "result", output }),
    ];
  }
  return [event(id, "turn_finished", turn, { seq: seq + 1, results: CALLS })];
}

function detail(head: number): object {
  return {
    trace_id: TRACE, status: "running", task: "Read everything.", name: "Read everything", model: "stand-in", last_event_id: head,
    total_cost_micros: 6_600_000, total_tokens: 28_000_000, total_prompt_tokens: 27_000_000, total_completion_tokens: 1_000_000,
    goal_tree: { mission: "Read everything.", current_id: 1, goals: [] },
    sub_traces: Array.from({ length: CHILDREN }, (_, n) => ({ trace_id: `${TRACE}@explore-${n}-001`, mode: "explore", task: `Look at part ${n}`, outcome: "result" })),
  };
}

/** Serves it. `grow` adds an event and sends it to whoever watches. */
export async function standIn(events = 50_000) {
  let head = events;
  const watching = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://stand-in");
    const json = (body: object): void => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (url.pathname === `/api/traces/${TRACE}`) return json(detail(head));
    if (url.pathname.endsWith("/stats")) return json({ runs: [{ turns: { count: Math.floor(head / PER_TURN) }, tools: {}, models: {} }] });
    if (url.pathname.endsWith("/approvals")) return json({ approvals: [] });
    if (url.pathname.endsWith("/questions")) return json({ questions: [] });
    if (url.pathname === "/api/traces" || url.pathname === "/api/traces/running") return json({ traces: [] });
    if (url.pathname === "/api/agents") return json({ items: [] });
    if (!url.pathname.endsWith("/events")) return void response.writeHead(404).end();
    if (request.headers.accept?.includes("text/event-stream")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: open\ndata: ${JSON.stringify({ type: "open", head, approvals: [], questions: [] })}\n\n`);
      watching.add(response);
      return void response.on("close", () => watching.delete(response));
    }
    const after = Number(url.searchParams.get("after") ?? 0);
    const last = Math.min(head, after + Number(url.searchParams.get("limit") ?? 50));
    const list = Array.from({ length: Math.max(0, last - after) }, (_, n) => published(after + n + 1)).flat();
    return json({ events: list, head, ...(last < head ? { next: String(last) } : {}) });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get head() {
      return head;
    },
    grow(): void {
      head += 1;
      const frames = published(head).map((one, at, all) => {
        const id = at + 1 < all.length ? `${head}.${at + 1}` : String(head);
        return `id: ${id}\nevent: ${one.type}\ndata: ${JSON.stringify({ ...one, cursor: id })}\n\n`;
      });
      for (const response of watching) response.write(frames.join(""));
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
