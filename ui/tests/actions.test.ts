// What a person does with a run that works or rests: say more for later, interrupt a call, make the history shorter, take it up again.
import AxeBuilder from "@axe-core/playwright";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { complaints, expect, inSmallSteps, test } from "./place";

const ALLOWED = { approvals: "yes", access: "workspace-write" };
const bash = (command: string): object => ({ tool: "bash", args: { command } });
const WAITS = bash("while [ ! -e go ]; do sleep 0.1; done; echo went");

test("what is said with Next is read after the run, and not before", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  const trace = await place.run([{ calls: [WAITS] }, { final: "First." }, { when: "And then?", final: "Second." }], ALLOWED, "begun");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.locator('[data-call="2.0"] [data-state="running"]')).toBeVisible();
  await page.getByRole("textbox", { name: "Say something to the run" }).fill("And then?");
  await page.getByRole("button", { name: "Next" }).click();
  const message = page.locator("article", { hasText: "And then?" });
  await expect(message).toContainText("queued");
  await expect(message).toContainText("Queued for after the run");
  await writeFile(join(place.work, "go"), "");
  await expect(page.getByText("Run 2 ended: final answer")).toBeVisible();
  const all = await page.getByRole("region", { name: "Conversation" }).innerText();
  const order = ["First.", "Run 1 ended", "And then?", "Second.", "Run 2 ended"].map((words) => all.indexOf(words));
  expect(order).toEqual(order.toSorted((a, b) => a - b));
  expect(order[0]).toBeGreaterThan(0);
  await expect(message).not.toContainText("queued");
  expect(said).toEqual([]);
});

test("Interrupt ends the call that runs, and the run goes on", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ calls: [bash("while :; do echo tick; sleep 0.1; done")] }, { final: "Then not." }], ALLOWED, "begun");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const call = page.locator('[data-call="2.0"]');
  await expect(call.getByRole("region", { name: "Output so far" })).toContainText("tick");
  await page.getByRole("button", { name: "Interrupt bash" }).click();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  await expect(call.locator('[data-state="stopped"]')).toHaveText("interrupted");
  await expect(page.getByRole("button", { name: "Interrupt bash" })).toBeHidden();

  // In the summary it has the same colour, and no time that it did not take.
  await page.getByRole("link", { name: "Summary" }).click();
  const row = page.getByRole("table").first().getByRole("row", { name: /^bash/ });
  await expect(row.getByRole("cell")).toHaveText(["bash", "1", "0", "1", "0", "–", "–"]);
  const tools = page.locator(".lane", { hasText: "Tools" });
  await expect(tools.locator("path.stopped")).toHaveAttribute("d", /^M/);
  await expect(tools.locator("path.failed")).toHaveAttribute("d", "");
});

test("Compact asks first, and replaces older messages with a summary", async ({ signedIn: page, place }) => {
  const turns = Array.from({ length: 4 }, (_, at) => [{ text: `Look ${at}.`, calls: [{ tool: "read_text_file", args: { path: "README.md", first_line: at + 1 } }] }]).flat();
  const trace = await place.run([...turns, { final: "Done." }]);
  for (const task of ["More.", "And more.", "And more still."]) {
    await place.ask("POST", `/api/traces/${trace}/run`, { messages: [{ role: "user", content: task }] });
    await place.rest(trace);
  }
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByText("Run 4 ended")).toBeVisible();
  await page.getByRole("button", { name: "Compact" }).click();
  const dialog = page.getByRole("dialog", { name: "Compact" });
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await page.getByRole("button", { name: "Compact" }).click();
  await dialog.getByLabel("What the summary should keep").fill("the looks");
  await dialog.getByRole("button", { name: "Compact" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByText(/Older messages were replaced by a summary|Older messages are left out of requests/)).toBeVisible();
  const { events } = await place.get<{ events: { type: string; data: { hint?: string } }[] }>(`/api/traces/${trace}/events?limit=500`);
  expect(events.find((event) => event.type === "compaction_requested")?.data.hint).toBe("the looks");
});

test("Resume goes on where a run was stopped", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ calls: [WAITS] }, { final: "Resumed." }], ALLOWED, "begun");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.locator('[data-call="2.0"] [data-state="running"]')).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Run 1 ended: stopped")).toBeVisible();
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(page.locator("article", { hasText: "Resumed." })).toBeVisible();
  await expect(page.getByText("Run 2 ended: final answer")).toBeVisible();
  await expect(page.getByRole("button", { name: "Resume" })).toBeHidden();
});

test("a second click on Stop does not hit Resume, which takes its place", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ calls: [WAITS] }, { final: "Resumed." }], ALLOWED, "begun");
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.locator('[data-call="2.0"] [data-state="running"]')).toBeVisible();
  const stop = await page.getByRole("button", { name: "Stop" }).boundingBox();
  if (stop === null) throw new Error("Stop is not seen");
  const [x, y] = [stop.x + stop.width / 2, stop.y + stop.height / 2];
  // The page's own time is stopped: the button stays disabled for as long as the test needs.
  await page.clock.pauseAt(Date.now() + 1000);
  // A double click, and a third click once Resume is there.
  await page.mouse.dblclick(x, y, { delay: 50 });
  const resume = page.getByRole("button", { name: "Resume" });
  await inSmallSteps(page, () => expect(resume).toBeVisible({ timeout: 1 }));
  await page.mouse.click(x, y);
  await expect(resume).toBeDisabled();
  await page.clock.runFor(1500);
  await expect(resume).toBeEnabled();
  await page.clock.resume();
  await expect(page.getByRole("alert")).toHaveCount(0);
  await expect(page.getByText("Run 2 began")).toHaveCount(0);
  await expect(page.getByText("refused")).toHaveCount(0);
  expect((await place.get<{ status: string }>(`/api/traces/${trace}`)).status).toBe("stopped");
  await page.mouse.dblclick(x, y, { delay: 50 });
  await expect(page.getByText("Run 2 ended: final answer")).toBeVisible();
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("after Stop by keyboard the focus moves to the message box", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ calls: [WAITS] }, { final: "Resumed." }], ALLOWED, "begun");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.locator('[data-call="2.0"] [data-state="running"]')).toBeVisible();
  await page.getByRole("button", { name: "Stop" }).press("Enter");
  await expect(page.getByText("Run 1 ended: stopped")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Say something to the run" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Resume" })).toBeEnabled();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("button", { name: "Resume" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Run 2 ended: final answer")).toBeVisible();
});

const EDIT = { tool: "edit_text_file", args: { path: "README.md", edits: [{ old_text: "hello world", new_text: "hello all" }] } };

test("a rewind shows the files first, puts them back, and goes on with what is said instead", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "Ready." }, { when: "Leave it", final: "Left." }, { text: "I change it.", calls: [EDIT] }, { final: "Changed." }], ALLOWED);
  await place.ask("POST", `/api/traces/${trace}/run`, { messages: [{ role: "user", content: "Change it." }] });
  await place.rest(trace);
  const readme = (): Promise<string> => readFile(join(place.work, "README.md"), "utf8");
  expect(await readme()).toContain("hello all");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const open = async (words: string): Promise<void> => {
    await page.locator("article", { hasText: words }).getByRole("button", { name: "Actions for this message" }).first().click();
    await page.getByRole("menuitem", { name: "Go back here and say something else" }).click();
  };
  const dialog = page.getByRole("dialog", { name: /^Go back to message/ });
  await open("Changed.");
  await expect(dialog).toContainText("No file was changed by the run since this message.");
  await page.keyboard.press("Escape");

  await open("Change it.");
  const file = dialog.getByRole("listitem").filter({ hasText: "README.md" });
  await expect(file.locator(".line.removed")).toHaveText(["-removed: hello all"]);
  await expect(file.locator(".line.added")).toHaveText(["+added: hello world"]);
  await expect(dialog.getByRole("button", { name: "Go back" })).toBeDisabled();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  expect(await readme()).toContain("hello all");
  await dialog.getByLabel("What to say instead").fill("Leave it.");
  await dialog.getByLabel("Put these files back first").check();
  await dialog.getByRole("button", { name: "Go back" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator("article", { hasText: "Left." })).toBeVisible();
  await expect(page.getByText("1 file was put back")).toBeVisible();
  await expect(page.getByText("left by going back").first()).toBeVisible();
  expect(await readme()).toContain("hello world");
});

test("the first message can be said in other words", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ when: "Look around", text: "I change it.", calls: [EDIT] }, { when: "Look again", final: "Looked again." }, { final: "Changed." }], ALLOWED);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await page.locator("article", { hasText: "Look around." }).getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "Go back here and say something else" }).click();
  const dialog = page.getByRole("dialog", { name: "Go back to before the first message" });
  await expect(dialog.locator(".line.added")).toHaveText(["+added: hello world"]);
  await dialog.getByLabel("What to say instead").fill("Look again.");
  await dialog.getByLabel("Put these files back first").check();
  await dialog.getByRole("button", { name: "Go back" }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator("article", { hasText: "Looked again." })).toBeVisible();
  expect(await readFile(join(place.work, "README.md"), "utf8")).toContain("hello world");
});
