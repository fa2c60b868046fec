import { answers } from "./reach";
import type { components } from "./schema";

export type Problem = components["schemas"]["Problem"];

/** What the server or the network refused, with the server's own words. */
export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  private readonly before = answers();

  constructor(
    readonly status: number,
    message: string,
    readonly problem?: Problem,
  ) {
    super(message);
  }

  /** Whether the server could not be reached at all. */
  get isOffline(): boolean {
    return this.status === 0;
  }

  /** Whether the server did not answer then, and has answered since. */
  get isOver(): boolean {
    return this.isOffline && answers() > this.before;
  }
}

function isProblem(body: unknown): body is Problem {
  return typeof body === "object" && body !== null && "detail" in body && "status" in body;
}

/** The problem that a body of a refused request says. */
export function problemOf(status: number, body: unknown): ApiProblem {
  if (!isProblem(body)) return new ApiProblem(status, `HTTP ${status}`);
  const fields = (body.errors ?? []).map((field) => `${field.pointer} ${field.detail}`);
  return new ApiProblem(status, [body.detail || body.title, ...fields].join("\n"), body);
}

/** Whatever was thrown, as a problem to show. */
export function asProblem(thrown: unknown): ApiProblem {
  if (thrown instanceof ApiProblem) return thrown;
  // What a browser says of a request that failed is in its own language, and tells nobody more than that.
  if (thrown instanceof TypeError) return new ApiProblem(0, "");
  return new ApiProblem(0, thrown instanceof Error ? thrown.message : String(thrown));
}
