// What OpenAI's own client for Node makes of the server: BASE KEY READS CHAT SLOW FORM.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const { default: OpenAI } = await import(createRequire(process.cwd() + "/").resolve("openai").replace(/index\.js$/, "index.mjs"));
const [base, key, reads, chat, slow, form] = process.argv.slice(2);
const client = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 0, timeout: 60_000 });

// Models.
const names = [];
for await (const model of client.models.list()) names.push(model.id);
assert.deepEqual(names, ["mainpath/analyst", "mainpath/default", "mainpath/evaluate", "mainpath/explore"]);
assert.equal((await client.models.retrieve("mainpath/explore")).owned_by, "builtin");

// Chat completions.
const messages = [{ role: "user", content: "What does it say?" }];
const said = await client.chat.completions.create({ model: reads, messages });
assert.equal(said.choices[0].message.content, "It says hello.");
assert.equal(said.choices[0].finish_reason, "stop");
assert.equal(said.usage.total_tokens, said.usage.prompt_tokens + said.usage.completion_tokens);
let text = "";
let usage = null;
const options = { model: reads, messages, stream: true, stream_options: { include_usage: true } };
for await (const chunk of await client.chat.completions.create(options)) {
  usage = chunk.usage ?? usage;
  text += chunk.choices[0]?.delta?.content ?? "";
}
assert.equal(text, "I look.\n\nIt says hello.");
assert.ok(usage.total_tokens > 0);
const runner = client.chat.completions.stream({ model: reads, messages });
assert.equal((await runner.finalChatCompletion()).choices[0].message.content, "I look.\n\nIt says hello.");
const again = [...messages, said.choices[0].message, { role: "user", content: "Thanks." }];
assert.equal((await client.chat.completions.create({ model: chat, messages: again })).choices[0].message.content, "Two.");

// An answer in a form.
const schema = { type: "object", properties: { greeting: { type: "string" } }, required: ["greeting"], additionalProperties: false };
const format = { type: "json_schema", name: "greeting", strict: true, schema };
const parsed = await client.responses.parse({ model: form, input: "x", text: { format } });
assert.deepEqual(JSON.parse(parsed.output_text), { greeting: "hello" });

// Responses.
const first = await client.responses.create({ model: chat, input: "one" });
assert.deepEqual([first.output_text, first.status], ["One.", "completed"]);
const second = await client.responses.create({ model: chat, input: "two", previous_response_id: first.id });
assert.deepEqual([second.output_text, second.previous_response_id], ["Two.", first.id]);
const stream = client.responses.stream({ model: reads, input: "What does it say?" });
const kinds = [];
for await (const event of stream) kinds.push(event.type);
assert.deepEqual([kinds[0], kinds.at(-1)], ["response.created", "response.completed"]);
const final = await stream.finalResponse();
assert.equal(final.output_text, "I look.\n\nIt says hello.");
const rest = [];
for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: 3 })) rest.push(event);
assert.ok(rest.every((event) => event.sequence_number > 3));
assert.equal(rest.at(-1).response.output_text ?? final.output_text, final.output_text);

// In the background.
let begun = await client.responses.create({ model: reads, input: "What does it say?", background: true });
for (let tries = 0; begun.status === "in_progress" && tries < 600; tries++) {
  await new Promise((resolve) => setTimeout(resolve, 50));
  begun = await client.responses.retrieve(begun.id);
}
assert.deepEqual([begun.status, begun.output.at(-1).content[0].text], ["completed", "It says hello."]);
begun = await client.responses.create({ model: slow, input: "x", background: true });
assert.equal((await client.responses.cancel(begun.id)).status, "cancelled");

// What goes wrong.
const tools = [{ type: "function", function: { name: "f", parameters: {} } }];
await assert.rejects(client.chat.completions.create({ model: reads, messages, tools }), (error) => {
  assert.ok(error instanceof OpenAI.BadRequestError);
  assert.deepEqual([error.param, error.code, error.type], ["tools", "unsupported_parameter", "invalid_request_error"]);
  return true;
});
await assert.rejects(client.chat.completions.create({ model: "gpt-4o", messages }), (error) => error.code === "model_not_found");
await assert.rejects(new OpenAI({ baseURL: base, apiKey: "mp_wrong", maxRetries: 0 }).models.list(), OpenAI.AuthenticationError);
const trying = new OpenAI({ baseURL: base, apiKey: key, maxRetries: 3 });
const broken = reads.replace("reads.toml", "fails.toml");
await assert.rejects(trying.chat.completions.create({ model: broken, messages }), (error) => error.code === "model_error");
console.log(JSON.stringify({ done: true, node: process.version }));
