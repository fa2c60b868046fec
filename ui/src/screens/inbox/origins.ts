// Where the words of a call came from, and the turn that made it: its event says so.
import { api, data } from "../../api/client";
import type { EventOf, PlannedCall } from "../../api/events";
import type { OpenCall } from "./waiting";

/** What the event that asks says of the call; null where it says nothing of it. */
export async function planned(asked: OpenCall): Promise<PlannedCall | null> {
  if (asked.event === null || asked.event === undefined) return null;
  const params = { path: { id: asked.trace_id }, query: { after: String(asked.event - 1), limit: 1 } };
  const page = await data(api.GET("/api/traces/{id}/events", { params }));
  const answer = page.events.find((event) => event["type"] === "model_response") as EventOf<"model_response"> | undefined;
  const index = Number(asked.call.split(".")[1]);
  return answer?.data.calls?.[index] ?? null;
}
