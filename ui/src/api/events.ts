// The published events of a run (docs/commands.md, "Events for programs"), as the OpenAPI document describes them.
import type { Schemas } from "./client";

type Wire = Schemas["RunEvent"];

export type EventType = Wire["type"];

type KeyOf<U> = U extends unknown ? keyof U : never;
type ValueOf<U, K extends PropertyKey> = U extends unknown ? (K extends keyof U ? U[K] : never) : never;

/** One shape with every field of these, for who looks whether it is there. */
type Joined<U> = Pick<U, keyof U> & { [K in Exclude<KeyOf<U>, keyof U>]?: ValueOf<U, K> };

/** What each event says. */
export type EventData = { [T in EventType]: Joined<Extract<Wire, { type: T }>["data"]> };

/** The stamp that every event bears. */
export type Stamp = Omit<Wire, "type" | "data" | "v"> & {
  /** From where a stream goes on after it. */
  cursor?: string;
};

export type EventOf<T extends EventType> = Stamp & { type: T; data: EventData[T] };

/** An event of this version. */
export type RunEvent = { [T in EventType]: EventOf<T> }[EventType];

/** An event as it came: a newer server may send types that this page does not know. */
export type AnyEvent = Stamp & { type: string; data: unknown };

export type Part = Schemas["Part"];
export type MediaSource = Extract<Part, { type: "image" }>["source"];
export type ToolOutput = Schemas["ToolOutput"];
export type FileState = Schemas["FileState"];
export type FileChange = Schemas["FileChange"];
export type PlannedCall = Schemas["PlannedCall"];
export type Resolution = Schemas["Resolution"];

/** The events that are in no log: a reload does not see them. */
export function isPiece(event: { id?: number | null | undefined }): boolean {
  return event.id === undefined || event.id === null;
}
