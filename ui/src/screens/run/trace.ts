// What is loaded of one trace, kept as it grows.
import { shallowRef, type ShallowRef } from "vue";
import { api, data } from "../../api/client";
import type { AnyEvent } from "../../api/events";
import { asProblem, type ApiProblem } from "../../api/problem";
import type { Item } from "../../model/conversation";
import { EventWindow, PART } from "../../model/window";

interface Part {
  events: AnyEvent[];
  head: number;
}

/** The events of a trace after a number: at most so many of its log. */
export async function eventsAfter(trace: string, after: number, limit: number, signal?: AbortSignal): Promise<Part> {
  const query = { after: String(after), limit };
  const page = await data(api.GET("/api/traces/{id}/events", { params: { path: { id: trace }, query }, ...(signal ? { signal } : {}) }));
  return { events: page.events as unknown as AnyEvent[], head: page.head };
}

export class LoadedTrace {
  readonly window = new EventWindow();
  readonly items: ShallowRef<Item[]> = shallowRef([]);
  /** Rises with every change of what is loaded. */
  readonly version = shallowRef(0);
  readonly problem: ShallowRef<ApiProblem | undefined> = shallowRef();
  readonly isLoading = shallowRef(false);
  readonly isLoaded = shallowRef(false);
  /** What was loaded when that failed. */
  private failed: (() => Promise<void>) | undefined;
  private frame: number | undefined;
  private early: AnyEvent[] = [];

  constructor(readonly id: string) {}

  /** Loads the end of the trace. */
  async openEnd(): Promise<void> {
    await this.load(async () => {
      // Where its end lies is not known before the first answer.
      const { head } = await eventsAfter(this.id, 0, 1);
      const after = Math.max(0, head - PART);
      const part = await eventsAfter(this.id, after, PART);
      this.window.set(part.events, after + 1, Math.min(part.head, after + PART), part.head);
      while (!this.window.isAtEnd) await this.append();
    });
  }

  /** Loads again what could not be loaded. */
  async again(): Promise<void> {
    if (this.failed !== undefined) await this.load(this.failed);
  }

  /** Loads the events around one. */
  async openAt(event: number): Promise<void> {
    if (event >= this.window.first && event <= this.window.last && this.isLoaded.value) return;
    await this.load(async () => {
      const after = Math.max(0, event - 1 - PART / 2);
      const part = await eventsAfter(this.id, after, PART);
      this.window.set(part.events, after + 1, Math.min(part.head, after + PART), part.head);
    });
  }

  async older(): Promise<void> {
    if (this.isLoading.value || this.window.isAtStart) return;
    await this.load(async () => {
      // Asked for when it is loaded: it may be tried again later.
      const { first } = this.window;
      const after = Math.max(0, first - 1 - PART);
      const part = await eventsAfter(this.id, after, first - 1 - after);
      this.window.prepend(part.events, after + 1);
    });
  }

  async newer(): Promise<void> {
    if (this.isLoading.value || this.window.isAtEnd) return;
    await this.load(() => this.append());
  }

  private async append(): Promise<void> {
    const { last } = this.window;
    const part = await eventsAfter(this.id, last, PART);
    this.window.append(part.events, Math.min(part.head, last + PART));
    this.window.head = Math.max(this.window.head, part.head);
  }

  /** Takes an event of the stream. */
  receive(event: AnyEvent): void {
    if (!this.isLoaded.value) {
      if (event.id !== undefined) this.early.push(event);
      return;
    }
    if (this.window.receive(event)) this.soon();
    else this.version.value += 1;
  }

  waits(calls: readonly string[]): void {
    calls.forEach((call) => this.window.conversation.waits(call));
    this.soon();
  }

  missedPieces(): void {
    this.window.conversation.missedPieces();
    this.soon();
  }

  private async load(part: () => Promise<void>): Promise<void> {
    this.isLoading.value = true;
    try {
      await part();
      this.problem.value = undefined;
      this.failed = undefined;
      this.isLoaded.value = true;
      // What came meanwhile may be in what was loaded, or come after it.
      const { last } = this.window;
      const early = this.early.filter((event) => (event.id ?? 0) > last);
      this.early = [];
      early.forEach((event) => this.window.receive(event));
      this.show();
    } catch (thrown) {
      this.problem.value = asProblem(thrown);
      this.failed = part;
    } finally {
      this.isLoading.value = false;
    }
  }

  /** Shows what is loaded with the next frame: many events may come within one. */
  private soon(): void {
    this.frame ??= requestAnimationFrame(() => this.show());
  }

  private show(): void {
    this.frame = undefined;
    this.items.value = this.window.conversation.items();
    this.version.value += 1;
  }
}
