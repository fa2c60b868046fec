// Every request to the server goes through here: it bears the key, and a refused key leads to the sign-in page.
import createClient from "openapi-fetch";
import { key, signOut } from "./key";
import { ApiProblem, problemOf } from "./problem";
import { answered } from "./reach";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** A request with the key. Throws an `ApiProblem` where nobody answers. */
export async function send(request: Request): Promise<Response> {
  const secret = key();
  if (secret !== null) request.headers.set("authorization", `Bearer ${secret}`);
  let response: Response;
  try {
    response = await fetch(request);
  } catch (thrown) {
    if (request.signal.aborted) throw thrown;
    throw new ApiProblem(0, thrown instanceof Error ? thrown.message : String(thrown));
  }
  answered();
  // Another key may have been given in the meantime: only the refused one is forgotten.
  if (response.status === 401 && key() === secret) signOut();
  return response;
}

export const api = createClient<paths>({
  baseUrl: location.origin,
  fetch: send,
  credentials: "omit",
  cache: "no-store",
});

/** The data of an answer. Throws an `ApiProblem` for a refusal. */
export async function data<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data: body, error, response } = await answer;
  if (error !== undefined || body === undefined) throw problemOf(response.status, error);
  return body;
}

/** A key for a request that must happen once, also where it is sent again. */
export function once(): { "Idempotency-Key": string } {
  // `randomUUID` is there on secure origins only.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return { "Idempotency-Key": Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") };
}

/** Exchanges the code of an address, given by `mainpath ui`, for a key. */
export async function exchange(code: string): Promise<string> {
  const request = new Request("/ui/login", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
    credentials: "omit",
    cache: "no-store",
  });
  const response = await fetch(request);
  const body: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemOf(response.status, body);
  if (typeof body === "object" && body !== null && "key" in body && typeof body.key === "string") return body.key;
  throw new ApiProblem(response.status, "the answer has no key");
}

/** Whether the server takes a key. Throws an `ApiProblem` where it cannot be asked. */
export async function isGood(secret: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch("/api/traces?limit=1", { headers, credentials: "omit", cache: "no-store" }).catch(
    (thrown: unknown) => {
      throw new ApiProblem(0, String(thrown));
    },
  );
  if (response.status === 401) return false;
  // A key that may not list traces is a key all the same.
  if (response.ok || response.status === 403) return true;
  throw problemOf(response.status, await response.json().catch(() => null));
}
