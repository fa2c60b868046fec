// @vitest-environment node
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { keptParts, readSent } from "./sent";

interface Recorded {
  request: Record<string, unknown>;
}

/** The requests that the program sends to each vendor, as its own tests hold them. */
function recorded(form: string): Recorded["request"][] {
  const file = new URL(`../../../crates/providers/tests/cassettes/${form}.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as Recorded[]).map((one) => one.request);
}

describe("a request reads the same in every vendor's form", () => {
  it.each(["anthropic", "chat", "gemini", "responses"])("%s", (form) => {
    const [first, ...later] = recorded(form).map(readSent);
    expect(first?.system).toBe("Be brief.");
    expect(first?.tools.map((tool) => [tool.name, tool.description])).toEqual([["look", "Looks."]]);
    expect(first?.messages).toEqual([{ role: "user", blocks: [{ kind: "text", text: "Are they the same?" }] }]);
    const blocks = later.flatMap((sent) => sent.messages.flatMap((message) => message.blocks));
    expect(blocks.filter((block) => block.kind === "other")).toEqual([]);
    expect(blocks.find((block) => block.kind === "call")).toMatchObject({ name: "look", arguments: { at: expect.any(String) as string } });
    expect(blocks.some((block) => block.kind === "result" && block.text !== "")).toBe(true);
  });
});

it("the form of scripted models is read too, pictures and failures among it", () => {
  const sent = readSent({
    head: { model: "m", system: "S", tools: [{ name: "a", description: "d", input_schema: { type: "object" } }], temperature: 0.3 },
    messages: [
      { role: "user", seq: 1, parts: [{ type: "text", text: "Hi" }, { type: "image", source: { base64: { data: "AAAA", media_type: "image/png" } } }] },
      { role: "tool", seq: 3, parts: [{ type: "tool_result", name: "a", is_error: true, content: [{ type: "text", text: "no" }] }] },
    ],
  });
  expect(sent.settings).toEqual({ model: "m", temperature: 0.3 });
  expect(sent.tools).toEqual([{ name: "a", description: "d", schema: { type: "object" } }]);
  expect(sent.messages[1]?.blocks).toEqual([{ kind: "result", name: "a", text: "no", isError: true }]);
  expect(sent.messages[0]?.blocks[1]).toEqual({ kind: "media", type: "image/png", bytes: 3, address: null });
});

it("a picture in a result is named by type and size, never laid out as text", () => {
  const sent = readSent({
    messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [{ type: "text", text: "t" }, { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } }] }] }],
  });
  expect(sent.messages[0]?.blocks).toEqual([
    { kind: "result", name: "c", text: "t", isError: false },
    { kind: "media", type: "image/png", bytes: 3, address: null },
  ]);
});

it("what the vendor kept is a beginning", () => {
  expect(keptParts([100, 100, 100, 100], 0, 400)).toBe(0);
  expect(keptParts([100, 100, 100, 100], 150, 400)).toBe(1);
  expect(keptParts([100, 100, 100, 100], 195, 400)).toBe(2);
  expect(keptParts([100, 100, 100, 100], 800, 800)).toBe(4);
});
