// Reads the log of a run for what it says of verdicts and files.
import { api, data } from "../../api/client";
import { empty, note, type Evidence } from "./evidence";

const PAGE = 500;
const MOST_PAGES = 40;

export async function evidence(id: string): Promise<Evidence> {
  const all = empty();
  let after = "0";
  for (let page = 0; page < MOST_PAGES; page++) {
    const { events, next } = await data(api.GET("/api/traces/{id}/events", { params: { path: { id }, query: { after, limit: PAGE } } }));
    for (const event of events) note(all, event);
    if (next === null || next === undefined) return all;
    after = next;
  }
  return { ...all, isCut: true };
}
