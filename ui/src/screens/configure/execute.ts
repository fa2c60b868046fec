// The agent core over HTTP: a check that starts nothing, and a run that streams.
import { send } from "../../api/client";
import type { AnyEvent } from "../../api/events";
import { ApiProblem, problemOf, type Problem } from "../../api/problem";
import { FrameParser } from "../../api/sse";
import type { Config } from "./config";

const ADDRESS = "/v1/agent_core/execute";

function request(body: object, headers: Record<string, string>, signal: AbortSignal): Request {
  return new Request(ADDRESS, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
    signal,
  });
}

/** What a refusal says of the fields of the configuration, by their names; `allowed_tools/2` is the third tool. */
export function wrongFields(problem: Problem | undefined): Map<string, string> {
  const found = new Map<string, string>();
  for (const { pointer, detail } of problem?.errors ?? []) {
    if (pointer.startsWith("/config/")) found.set(pointer.slice("/config/".length), detail);
  }
  return found;
}

/** Has the server check a configuration: without a task nothing is started, and every other wrong field is named. */
export async function check(config: Config, signal: AbortSignal): Promise<Map<string, string>> {
  const response = await send(request({ config }, {}, signal));
  const problem = problemOf(response.status, await response.json().catch(() => null));
  if (response.status !== 422 || problem.problem?.errors === undefined) throw problem;
  return wrongFields(problem.problem);
}

/** Runs it and gives its events as they come. Under the same key the same run is watched again. */
export async function execute(
  body: { config: Config; prompt: string },
  key: Record<string, string>,
  signal: AbortSignal,
  each: (event: AnyEvent) => void,
): Promise<void> {
  const response = await send(request(body, { accept: "text/event-stream", ...key }, signal));
  if (!response.ok || response.body === null) throw problemOf(response.status, await response.json().catch(() => null));
  const parser = new FrameParser();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read().catch((thrown: unknown) => {
      throw new ApiProblem(0, String(thrown));
    });
    if (done) throw new ApiProblem(0, "the stream ended before the run");
    for (const frame of parser.push(value)) {
      if (frame.name === "open") continue;
      const event = JSON.parse(frame.data) as AnyEvent & { detail?: string };
      if (frame.name === "problem") throw new ApiProblem(0, event.detail ?? "");
      each(event);
      if (frame.name === "result") return;
    }
  }
}
