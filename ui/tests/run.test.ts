import AxeBuilder from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { duration } from "../src/model/format";
import { complaints, expect, healed, inSmallSteps, type Place, test } from "./place";

const EDIT = { tool: "edit_text_file", args: { path: "README.md", edits: [{ old_text: "hello world", new_text: "hello all" }] } };
const WHOLE = [
  { thinking: "First a look.", text: "I look **around**.", calls: [{ tool: "read_text_file", args: { path: "README.md" } }, { tool: "list_files", args: { path: "." } }] },
  { text: "I plan.", calls: [{ tool: "goal", args: { op: "set", steps: [{ id: "a", title: "Read it", status: "completed" }, { id: "b", title: "Change it" }] } }] },
  { text: "I change it.", calls: [EDIT] },
  { calls: [{ tool: "bash", args: { command: "echo line; exit 3" } }] },
  { final: "All is *done*.", usage: { input: 1200, output: 40, cache_read: 800 } },
];

/** The text of the conversation but for what tells the time. */
async function said(page: Page): Promise<string> {
  return page.getByRole("region", { name: "Conversation" }).innerText();
}

test("a call that does not fit on a look is allowed only where all of it is read", async ({ signedIn: page, place }) => {
  const hidden = `ls -la${"\n".repeat(60)}rm -rf important # ${"y".repeat(5000)}`;
  const trace = await place.run([{ calls: [{ tool: "bash", args: { command: hidden } }] }, { final: "Done." }]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByRole("button", { name: "Deny" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Allow once" })).toHaveCount(0);
  await page.getByRole("link", { name: "Read all of it in the inbox to allow it" }).click();
  await expect(page.getByRole("button", { name: /^Allow once/ })).toBeDisabled();
});

test("what is live and what is after a reload is the same text", async ({ signedIn: page, place }) => {
  const wrong = complaints(page);
  // It waits at the edit: from there on everything comes over the stream.
  const trace = await place.run(WHOLE);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.getByText("echo line; exit 3").first()).toBeVisible();
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  await expect(page.locator("em", { hasText: "done" })).toBeVisible();
  const live = await said(page);
  expect(live).toContain("exit code 3");
  await page.reload();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  expect(await said(page)).toBe(live);
  expect(await readFile(join(place.work, "README.md"), "utf8")).toContain("hello all");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  expect(wrong).toEqual([]);
});

test("a call is folded, and has its arguments, result, time, verdict and rule within", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE, { approvals: "yes", access: "workspace-write" });
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const call = page.locator('[data-call="7.0"]');
  await expect(call.locator('[data-state="ended"]')).toBeVisible();
  await expect(call.getByRole("region", { name: /Changes/ })).toBeHidden();
  await call.getByRole("button").first().press("Enter");
  const diff = call.getByRole("region", { name: "Changes: README.md" });
  await expect(diff).toContainText("hello world");
  await expect(diff.locator(".added")).toContainText("hello all");
  await expect(call).toContainText("Rule");
  const failed = page.locator('[data-state="failed"]', { hasText: "exit code 3" });
  await expect(failed).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("the summary has task, plan, result, cost and what went wrong", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE, { task: "Change the readme.", approvals: "yes", access: "workspace-write" });
  await page.goto(`${place.ui}runs/${trace}`);
  await expect(page.getByRole("heading", { name: "Task" })).toBeVisible();
  await expect(page.locator("section", { has: page.getByRole("heading", { name: "Result" }) })).toContainText("All is done.");
  await expect(page.locator("section", { has: page.getByRole("heading", { name: "Plan" }) })).toContainText("1 of 2 done");
  await expect(page.getByRole("img", { name: /Timeline of turns 1 to 5/ })).toBeVisible();
  await expect(page.getByRole("table").first()).toContainText("bash");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.locator("section", { has: page.getByRole("heading", { name: "Needs attention" }) }).getByRole("link").click();
  await expect(page).toHaveURL(/conversation\?event=\d+&call=/);
  await expect(page.getByText("echo line; exit 3").first()).toBeVisible();
});

test("every event has an address, at every zoom, and its raw form", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE, { approvals: "yes", access: "workspace-write" });
  await page.goto(`${place.ui}runs/${trace}/events?event=6`);
  const row = page.locator('[data-event="6"]');
  await expect(row).toContainText("model_response");
  await expect(row.getByRole("region", { name: "Event 6" })).toContainText('"I look **around**."');
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByRole("link", { name: "Conversation" }).first().click();
  await expect(page).toHaveURL(/conversation\?event=6/);
  await expect(page.locator(".aimed")).toContainText("I look around.");
  await page.goto(`${place.ui}runs/${trace}/conversation?message=7`);
  await expect(page.locator(".aimed")).toContainText("I change it.");
  await page.goto(`${place.ui}runs/${trace}/conversation?turn=2`);
  await expect(page.locator(".aimed")).toContainText("I plan.");
});

test("what the model saw is shown by section, as it was read, and as it was sent", async ({ signedIn: page, place }) => {
  const trace = await place.run([
    { text: "I look.", calls: [{ tool: "read_text_file", args: { path: "README.md" } }], usage: { input: 3000, output: 20 } },
    { final: "Hi.", usage: { input: 3200, output: 10, cache_read: 3000 } },
  ]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await page.locator("article", { hasText: "Hi." }).getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "What the model saw" }).click();
  const dialog = page.getByRole("dialog", { name: "What the model saw: request 2" });
  await expect(dialog).toContainText("The vendor counted 3,200 tokens.");
  await expect(dialog).toContainText("3,000 tokens (94%) came from the vendor's cache.");
  await expect(dialog).toContainText("Nothing was left out.");
  await dialog.getByRole("button", { name: /System: instructions/ }).click();
  // A cache keeps the beginning: the tools, not the newest result.
  await expect(dialog.getByRole("row", { name: "tool bash as it is kept" })).toBeVisible();
  await dialog.getByRole("button", { name: /Newest turn/ }).click();
  await expect(dialog.getByRole("row", { name: /^result, message 3 as it is \d/ })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  await dialog.getByRole("tab", { name: "As the model read it" }).click();
  await dialog.getByRole("button", { name: /^Tool results/ }).click();
  await expect(dialog.getByRole("region", { name: "Result" })).toContainText("hello world");
  await dialog.getByRole("button", { name: /^System/ }).click();
  await expect(dialog.getByRole("region", { name: "System" })).toContainText("You are an agent");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  await dialog.getByRole("tab", { name: "As sent" }).click();
  await expect(dialog.getByRole("region", { name: "As sent" })).toContainText('"stream": true');

  // It has an address, which a reload opens; closing it leaves the address of the run.
  await expect(page).toHaveURL(/request=2/);
  await page.reload();
  await expect(dialog).toContainText("came from the vendor's cache");
  await dialog.getByRole("link", { name: "Raw event" }).click();
  await expect(page).toHaveURL(/events\?event=\d+$/);
  await expect(dialog).toBeHidden();
  await page.getByRole("link", { name: "What the model saw" }).click();
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/events\?event=\d+$/);
  await page.goto(`${place.ui}runs/${trace}?request=99`);
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("there is no request");
});

test("what is done in an agent that is opened in place is done to that agent", async ({ signedIn: page, place }) => {
  const trace = await place.run([
    { when: "Look left", final: "Nothing on the left." },
    { calls: [{ tool: "agent", args: { task: "Look left, please" } }] },
    { final: "Asked." },
  ]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const child = page.locator("[data-child]");
  await child.getByRole("button").first().click();
  const answer = child.locator("article", { hasText: "Nothing on the left." }).last();
  await answer.getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "What the model saw" }).click();
  await page.getByRole("tab", { name: "As the model read it" }).click();
  await expect(page.getByRole("dialog")).toContainText("Look left, please");
  await expect(page.getByRole("dialog").getByRole("button", { name: /^Model/ })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await answer.getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "Fork here" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
  await expect(page.getByText(new RegExp(`Copied from ${trace}\\S+ at message 2`))).toBeVisible();
});

test("a run is steered while it works, and stopped", async ({ signedIn: page, place }) => {
  const waits = { calls: [{ tool: "bash", args: { command: "while [ ! -e go ]; do sleep 0.1; done; echo went" } }] };
  const trace = await place.run([waits, { when: "Look left", ...waits, calls: [{ tool: "bash", args: { command: "while :; do sleep 0.1; done" } }] }], { approvals: "yes", access: "workspace-write" }, "begun");
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.locator('[data-call="2.0"] [data-state="running"]')).toBeVisible();
  await page.getByRole("textbox", { name: "Say something to the run" }).fill("Look left");
  await page.getByRole("button", { name: "Steer" }).click();
  await expect(page.getByText("queued")).toBeVisible();
  await writeFile(join(place.work, "go"), "");
  await expect(page.locator("article", { hasText: "Look left" })).not.toContainText("queued");
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.getByText("Run 1 ended: stopped")).toBeVisible();
  await expect(page.getByRole("button", { name: "Resume" })).toBeVisible();
});

test("going back shows the files that would change, and puts them back", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ text: "I change it.", calls: [EDIT] }, { final: "Done." }], { approvals: "yes", access: "workspace-write" });
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const task = page.locator("article", { hasText: "Look around." });
  await task.getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "Answer again" }).click();
  const dialog = page.getByRole("dialog", { name: "Answer message 1 again" });
  await expect(dialog).toContainText("README.md");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  await expect(page.getByText("left by going back")).toHaveCount(0);

  await task.getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "Answer again" }).click();
  await dialog.getByLabel("Put these files back first").check();
  await dialog.getByRole("button", { name: "Answer again" }).click();
  await expect(page.getByText("left by going back").first()).toBeVisible();
  await expect(page.getByText("Run 2 ended")).toBeVisible();
});

test("a fork is a run of its own", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "Hi." }]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await page.locator("article", { hasText: "Hi." }).getByRole("button", { name: "Actions for this message" }).click();
  await page.getByRole("menuitem", { name: "Fork here" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
  await expect(page).not.toHaveURL(new RegExp(trace));
  await expect(page.getByText(`Copied from ${trace} at message 2`)).toBeVisible();
});

test("agents are opened in place", async ({ signedIn: page, place }) => {
  const trace = await place.run([
    { when: "Look left", final: "Nothing on the left." },
    { calls: [{ tool: "agent", args: { task: ["Look left, please"] } }] },
    { final: "Asked." },
  ]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const child = page.locator("[data-child]");
  await expect(child.locator('[data-state="ended"]')).toBeVisible();
  await child.getByRole("button").first().click();
  await expect(child.locator("article", { hasText: "Nothing on the left." })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("a connection that is lost is said, and healed without a reload", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE);
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByRole("button", { name: "Allow once" })).toBeVisible();
  await place.kill();
  await expect(page.getByText("Connection lost, trying again")).toBeVisible();
  await place.start();
  await healed(page, () => expect(page.getByText("Connection lost, trying again")).toBeHidden({ timeout: 2000 }));
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.getByText("echo line; exit 3").first()).toBeVisible();
  await page.getByRole("button", { name: "Allow once" }).click();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  const live = await said(page);
  await page.reload();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  expect(await said(page)).toBe(live);
});

test("what was not done stays said until it is done; what could not be loaded is loaded when the server answers again", async ({ signedIn: page, place }) => {
  const [trace, other] = [await place.run([{ final: "Hi." }]), await place.run([{ final: "Ho." }])];
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}`);
  await expect(page.getByText("Hi.")).toBeVisible();
  await place.kill();
  await page.getByRole("button", { name: "Save as Markdown" }).click();
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await place.start();
  const alert = page.getByRole("alert");
  await healed(page, () => expect(alert).toContainText("The server did not answer then. It does now.", { timeout: 2000 }));
  await expect(alert).toHaveCount(1);
  await page.getByRole("button", { name: "Save as Markdown" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);

  // A screen that does not poll loads again, too.
  await page.goto(`${place.ui}compare?a=${trace}&b=${other}`);
  await expect(page.getByRole("table").first()).toBeVisible();
  await place.kill();
  await page.getByRole("button", { name: "Load again" }).click();
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await place.start();
  await healed(page, () => expect(page.getByRole("table").first()).toBeVisible({ timeout: 2000 }));
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("what cannot be loaded while the server is away is said, and opened once it is back", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "Hi." }]);
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}`);
  await expect(page.getByText("Hi.")).toBeVisible();
  await page.route("**/ui/assets/**", (route) => route.abort());
  await place.kill();
  const said = page.getByRole("alert").filter({ hasText: "What you asked for could not be loaded." });
  await page.getByRole("link", { name: "Configure" }).click();
  await expect(said).toContainText("The server does not answer.");
  await said.getByRole("button", { name: "Try again" }).click();
  await expect(said).toBeVisible();
  await place.start();
  await healed(page, () => expect(said).toContainText("It does now.", { timeout: 2000 }));
  await page.unroute("**/ui/assets/**");
  await said.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { name: "Configure" })).toBeVisible();
  await expect(said).toHaveCount(0);

  // So is a part of a screen, whose address is there before it.
  await page.route("**/ui/assets/**", (route) => route.abort());
  await page.getByRole("link", { name: "Models" }).click();
  await expect(said).toBeVisible();
  await page.unroute("**/ui/assets/**");
  await said.getByRole("button", { name: "Try again" }).click();
  await expect(page).toHaveURL(/part=models/);
  await expect(page.getByRole("listitem").filter({ hasText: "ollama" })).toBeVisible();
  await expect(said).toHaveCount(0);
});

/** How long the runs of a trace have worked, as the server counts it, in milliseconds. */
async function worked(place: Place, trace: string): Promise<number> {
  const { runs } = await place.get<{ runs: { ms: number }[] }>(`/api/traces/${trace}/stats`);
  return runs.reduce((all, run) => all + run.ms, 0);
}

test("the working time of a run grows while it works and stands still while it waits", async ({ signedIn: page, place }) => {
  const wait = { tool: "bash", args: { command: "while [ ! -e go ]; do sleep 0.1; done" } };
  const trace = await place.run([{ calls: [wait] }, { calls: [{ tool: "ask_human", args: { question: "And now?" } }] }, { final: "Done." }], { approvals: "yes", access: "workspace-write" }, "begun");
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}`);
  const time = page.locator(".took div", { hasText: "Working time" }).locator("dd");
  await expect(time).toBeVisible();
  const seconds = async () => Number.parseFloat((await time.innerText()).replace(/^\d+ ms$/, "0"));
  await expect(async () => {
    await page.clock.runFor(3000);
    expect(await seconds()).toBeGreaterThanOrEqual(3);
  }).toPass();
  await writeFile(join(place.work, "go"), "");
  await expect(page.getByText("Waiting for you").first()).toBeVisible();
  await place.rest(trace);
  await expect(time).toHaveText(duration(await worked(place, trace)));
  const before = await time.innerText();
  await page.clock.runFor(10_000);
  expect(await time.innerText()).toBe(before);
});

test("the summary and the comparison show the same working time, without the time between runs", async ({ signedIn: page, place }) => {
  const [trace, other] = [await place.run([{ final: "Hi." }]), await place.run([{ final: "Ho." }])];
  // Some time between the runs.
  await new Promise((resolve) => setTimeout(resolve, 200));
  await place.ask("POST", `/api/traces/${trace}/run`, { messages: [{ role: "user", content: "Again." }] });
  await place.rest(trace);
  const { events } = await place.get<{ events: { type: string; ts: string }[] }>(`/api/traces/${trace}/events?limit=500`);
  const at = (type: string): number[] => events.filter((event) => event.type === type).map((event) => Date.parse(event.ts));
  const [begun, ended] = [at("run_started"), at("run_finished")];
  expect([begun.length, ended.length]).toEqual([2, 2]);
  const ms = await worked(place, trace);
  const all = (ended[1] ?? 0) - (begun[0] ?? 0);
  const between = (begun[1] ?? 0) - (ended[0] ?? 0);
  expect(between).toBeGreaterThan(0);
  expect(ms).toBeLessThanOrEqual(all - between);
  await page.goto(`${place.ui}runs/${trace}`);
  const time = page.locator(".took div", { hasText: "Working time" }).locator("dd");
  await expect(time).toHaveText(duration(ms));
  await page.goto(`${place.ui}compare?a=${trace}&b=${other}`);
  await expect(page.getByRole("row", { name: /^Working time/ }).getByRole("cell").first()).toHaveText(duration(ms));
});

test("the events of a run that has ended are in the past tense, and the first settings are no change", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE, { approvals: "yes", access: "workspace-write" });
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByText("The agent was set up")).toBeVisible();
  await expect(page.getByText("The settings of the agent changed")).toHaveCount(0);
  await page.goto(`${place.ui}runs/${trace}/events?event=3`);
  await expect(page.locator('[data-event="3"]')).toContainText("run began");
  await expect(page.locator('[data-event] [data-state="ended"]').first()).toBeVisible();
  await expect(page.locator('[data-event] [data-state="running"]')).toHaveCount(0);
});

test("what Mainpath says about a run is seen long enough to be read, and goes", async ({ signedIn: page, place }) => {
  await place.kill();
  await writeFile(join(place.home, "config.toml"), '[[hooks]]\nname = "guard"\non = ["before_tool"]\ntools = ["bash"]\ncommand = ["/bin/false"]\non_failure = "open"\n');
  await place.start();
  const trace = await place.run(WHOLE);
  await page.clock.install();
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const allow = page.getByRole("button", { name: "Allow once" });
  await expect(allow).toBeEnabled();
  // The page's own time is stopped: the notice stays for as long as the test needs.
  await page.clock.pauseAt(Date.now() + 1000);
  await allow.click();
  const notice = page.getByRole("status").filter({ hasText: "the hook guard failed" });
  await inSmallSteps(page, () => expect(notice).toBeVisible({ timeout: 1 }));
  // The run has gone on, and waits.
  await inSmallSteps(page, () => expect(page.getByText("echo line; exit 3").first()).toBeVisible({ timeout: 1 }));
  await expect(notice).toBeVisible();
  await page.clock.resume();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  // It goes once the run has gone on: a notice has no place among the events and may come after the one that asks.
  await allow.click();
  await expect(page.getByText("Run 1 ended: final answer")).toBeVisible();
  await page.clock.runFor(10_000);
  await expect(notice).toBeHidden();
});

test("what an agent does is seen in place while it does it, and the run says that it waits for it", async ({ signedIn: page, place }) => {
  const trace = await place.run([
    { when: "Write it", text: "I write it.", calls: [{ tool: "write_text_file", args: { path: "a.txt", content: "x\n" } }] },
    { when: "a.txt", final: "It is written." },
    { calls: [{ tool: "agent", args: { task: "Write it, please" } }] },
    { final: "Asked." },
  ]);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  const child = page.locator("[data-child]");
  await expect(child.locator('[data-state="waiting"]').first()).toBeVisible();
  await child.getByRole("button").first().click();
  await child.getByRole("button", { name: "Allow once" }).click();
  await expect(child.locator("article", { hasText: "It is written." })).toBeVisible();
  await expect(page.getByText("Run 1 ended: final answer").last()).toBeVisible();
});

test("every zoom is whole in Chinese, on a phone, in the dark, without motion", async ({ signedIn: page, place }) => {
  const trace = await place.run(WHOLE, { approvals: "yes", access: "workspace-write" });
  await page.emulateMedia({ reducedMotion: "reduce", colorScheme: "dark" });
  await page.setViewportSize({ width: 360, height: 740 });
  await page.addInitScript(() => localStorage.setItem("mainpath.language", "zh"));
  for (const path of ["runs", `runs/${trace}`, `runs/${trace}/conversation`, `runs/${trace}/events`]) {
    await page.goto(`${place.ui}${path}`);
    await expect(page.locator("main .badge").first()).toBeVisible();
    if (path.endsWith("events")) await expect(page.locator("[data-event] .type").first()).toBeVisible();
    if (path.endsWith("conversation")) await expect(page.locator("article").first()).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBeLessThanOrEqual(360);
    expect((await new AxeBuilder({ page }).analyze()).violations, path).toEqual([]);
    expect((await page.locator("main .badge").allInnerTexts()).filter((text) => /[a-z]/i.test(text)), path).toEqual([]);
    expect(await page.locator("body").innerText(), path).not.toMatch(/\b(runs?|common)\.[a-z]+\.[a-zA-Z]+\b/);
  }
});
