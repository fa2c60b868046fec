// The part of a trace's events that is loaded: one range without gaps.
import type { AnyEvent, RunEvent } from "../api/events";
import { conversationOf, type Conversation } from "./conversation";
import { isEventType } from "./event-types";

/** So many events of a log are loaded at once, */
export const PART = 200;
/** and at most so many are kept: beyond that, those that are farthest from what is looked at are let go. */
export const MOST = 3000;

/** The events of types that this page knows. A newer server may send others: they are seen among all events, raw. */
export function known(events: readonly AnyEvent[]): RunEvent[] {
  return events.filter((event): event is RunEvent => isEventType(event.type));
}

/** Where a turn or a message begins: a conversation that starts in the middle of a turn would show calls without their answer. */
const BEGINNINGS = new Set(["turn_started", "message_queued", "steer_queued", "follow_up_queued", "rewind_requested", "run_started", "model_request"]);

export class EventWindow {
  private events: AnyEvent[] = [];
  /** The first number that is loaded, */
  first = 1;
  /** and the last. */
  last = 0;
  /** The last number of the trace, as far as is known. */
  head = 0;
  conversation: Conversation = conversationOf([]);

  get isAtStart(): boolean {
    return this.first <= 1;
  }

  get isAtEnd(): boolean {
    return this.last >= this.head;
  }

  get loaded(): readonly AnyEvent[] {
    return this.events;
  }

  /** Holds this range and no other. */
  set(events: readonly AnyEvent[], first: number, last: number, head: number): void {
    this.events = [...events];
    this.first = first;
    this.last = last;
    this.head = Math.max(head, last);
    this.rebuild();
  }

  /** Takes the events right before the range. */
  prepend(events: readonly AnyEvent[], first: number): void {
    this.events = [...events, ...this.events];
    this.first = first;
    if (this.last - this.first >= MOST) {
      this.last = this.first + MOST - 1;
      this.events = this.events.filter((event) => (event.id ?? 0) <= this.last);
    }
    this.rebuild();
  }

  /** Takes the events right after the range. */
  append(events: readonly AnyEvent[], last: number): void {
    this.events.push(...events);
    this.last = Math.max(this.last, last);
    this.head = Math.max(this.head, last);
    if (this.last - this.first >= MOST * 1.2) {
      this.first = this.last - MOST + 1;
      this.events = this.events.filter((event) => (event.id ?? 0) >= this.first);
      this.rebuild();
    } else {
      for (const event of known(events)) this.conversation.apply(event);
    }
  }

  /** Takes an event or a piece of the stream. False where it lies outside of the range. */
  receive(event: AnyEvent): boolean {
    const { id } = event;
    if (id === undefined || id === null) {
      if (!this.isAtEnd || !isEventType(event.type)) return false;
      this.conversation.apply(event as RunEvent);
      return true;
    }
    const wasAtEnd = this.isAtEnd;
    this.head = Math.max(this.head, id);
    if (!wasAtEnd) return false;
    this.append([event], id);
    return true;
  }

  private rebuild(): void {
    const at = this.isAtStart ? 0 : this.events.findIndex((event) => BEGINNINGS.has(event.type));
    const before = this.conversation;
    this.conversation = conversationOf(known(this.events.slice(Math.max(0, at))));
    this.conversation.adoptPieces(before);
  }
}
