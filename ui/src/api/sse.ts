// Server-sent events (the HTML standard, "Event stream interpretation") out of bytes in any pieces.

export interface Frame {
  /** From where to go on after it; undefined where the frame has none. */
  id?: string;
  name: string;
  data: string;
}

export class FrameParser {
  private readonly decoder = new TextDecoder();
  private rest = "";
  private lines: string[] = [];
  private id: string | undefined;
  private name = "message";

  /** The frames that are complete with these bytes. */
  push(bytes: Uint8Array): Frame[] {
    const text = this.rest + this.decoder.decode(bytes, { stream: true });
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    const frames: Frame[] = [];
    for (const line of lines) {
      if (line !== "") {
        this.take(line);
      } else {
        if (this.lines.length > 0) {
          const frame: Frame = { name: this.name, data: this.lines.join("\n") };
          if (this.id !== undefined) frame.id = this.id;
          frames.push(frame);
        }
        this.lines = [];
        this.id = undefined;
        this.name = "message";
      }
    }
    return frames;
  }

  private take(line: string): void {
    const at = line.indexOf(":");
    // A line that begins with a colon is a comment.
    if (at === 0) return;
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "data") this.lines.push(value);
    else if (field === "id") this.id = value;
    else if (field === "event") this.name = value;
  }
}
