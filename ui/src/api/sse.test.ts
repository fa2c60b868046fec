import { expect, test } from "vitest";
import { FrameParser } from "./sse";

const STREAM = 'retry: 2000\n\nevent: open\ndata: {"head":1}\n\nid: 5.1\nevent: turn_started\ndata: {"a":"é"}\n\n: still here\n\nid: 5\r\nevent: x\r\ndata: one\r\ndata:two\r\n\r\n';
const FRAMES = [
  { name: "open", data: '{"head":1}' },
  { id: "5.1", name: "turn_started", data: '{"a":"é"}' },
  { id: "5", name: "x", data: "one\ntwo" },
];

test("frames are the same in whatever pieces the bytes come", () => {
  const bytes = new TextEncoder().encode(STREAM);
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new FrameParser();
    const frames = [];
    for (let at = 0; at < bytes.length; at += size) frames.push(...parser.push(bytes.subarray(at, at + size)));
    expect(frames, `pieces of ${size}`).toEqual(FRAMES);
  }
});
