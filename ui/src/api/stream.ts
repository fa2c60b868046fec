// The stream of a trace: opened, resumed after the last frame that was seen, and closed when it ends.
import { send } from "./client";
import type { AnyEvent } from "./events";
import { ApiProblem, problemOf } from "./problem";
import { FrameParser, type Frame } from "./sse";

export type Connection = "connecting" | "open" | "lost" | "ended" | "refused";

export interface StreamHandlers {
  /** An event, or a piece of what is still coming. */
  event(event: AnyEvent): void;
  /** What waits for people now. Comes first whenever the stream is opened. */
  opened(frame: { head: number; approvals: AnyEvent[]; questions: AnyEvent[] }): void;
  /** The place was none any more: what is shown has to be loaded again. */
  resync(): void;
  connection(now: Connection, problem?: ApiProblem): void;
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;
/** The server shows every 15 seconds that it lives; who hears nothing for longer has lost it. */
const SILENCE = 40_000;

export class TraceStream {
  private readonly closing = new AbortController();
  private attempt: AbortController | undefined;
  private wake: (() => void) | undefined;

  constructor(
    private readonly trace: string,
    private cursor: string,
    private readonly on: StreamHandlers,
  ) {
    addEventListener("online", this.hurry);
    void this.run();
  }

  /** The last place that was seen. */
  get place(): string {
    return this.cursor;
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  close(): void {
    removeEventListener("online", this.hurry);
    this.closing.abort();
    this.attempt?.abort();
    this.wake?.();
  }

  private readonly hurry = (): void => this.wake?.();

  private async run(): Promise<void> {
    let failures = 0;
    while (!this.closing.signal.aborted) {
      let ended: "ended" | "cut" = "cut";
      try {
        this.on.connection(failures === 0 ? "connecting" : "lost");
        ended = await this.once(() => {
          failures = 0;
          this.on.connection("open");
        });
      } catch (thrown) {
        if (this.closing.signal.aborted) return;
        if (thrown instanceof ApiProblem && thrown.status >= 400 && thrown.status < 500 && thrown.status !== 429) {
          this.on.connection("refused", thrown);
          return;
        }
      }
      if (this.closing.signal.aborted) return;
      if (ended === "ended") {
        this.on.connection("ended");
        return;
      }
      failures += 1;
      this.on.connection("lost");
      await this.pause(Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)) * (0.75 + Math.random() / 2));
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** One connection, until it ends in order or is cut. */
  private async once(opened: () => void): Promise<"ended" | "cut"> {
    const attempt = new AbortController();
    this.attempt = attempt;
    const query = `after=${encodeURIComponent(this.cursor)}&children=true&follow=true`;
    const request = new Request(`/api/traces/${encodeURIComponent(this.trace)}/events?${query}`, {
      headers: { accept: "text/event-stream" },
      credentials: "omit",
      cache: "no-store",
      signal: attempt.signal,
    });
    let watchdog: ReturnType<typeof setTimeout> | undefined;
    const heard = (): void => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => attempt.abort(), SILENCE);
    };
    try {
      heard();
      const response = await send(request);
      if (response.status === 204) return "ended";
      if (!response.ok || response.body === null) {
        throw problemOf(response.status, await response.json().catch(() => null));
      }
      opened();
      const parser = new FrameParser();
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "cut";
        heard();
        for (const frame of parser.push(value)) {
          if (this.closing.signal.aborted) return "cut";
          if (this.take(frame)) return "ended";
        }
      }
    } finally {
      clearTimeout(watchdog);
      attempt.abort();
    }
  }

  /** Takes a frame; true at the end. */
  private take(frame: Frame): boolean {
    const body = JSON.parse(frame.data);
    switch (frame.name) {
      case "open":
        this.on.opened(body);
        break;
      case "resync":
        this.on.resync();
        break;
      case "end":
        return true;
      case "problem":
        // What refused it is said again when the stream is opened again, if it lasts.
        throw new ApiProblem(0, body.detail);
      default:
        this.on.event(body);
    }
    if (frame.id !== undefined) this.cursor = frame.id;
    return false;
  }
}
