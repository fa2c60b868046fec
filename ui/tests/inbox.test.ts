import AxeBuilder from "@axe-core/playwright";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { complaints, expect, healed, test, type Place } from "./place";

const writes = (content: string, path = "a.txt"): object[] => [
  { text: "I write it down.", calls: [{ tool: "write_text_file", args: { path, content } }] },
  { final: "Written." },
];
const commands = (command: string): object[] => [{ calls: [{ tool: "bash", args: { command } }] }, { final: "Ran." }];
const asks: object[] = [
  { calls: [{ tool: "ask_human", args: { question: "Which colour?", choices: [{ label: "red", description: "warm" }, { label: "blue" }] } }] },
  { final: "Thanks." },
];

interface Ended {
  status: string;
  result_summary: string | null;
}

/** Starts an agent and gives its trace, when it waits for a person. */
async function waits(place: Place, turns: object[]): Promise<string> {
  const trace = await place.run(turns, {}, "begun");
  await expect.poll(async () => (await place.get<Ended>(`/api/traces/${trace}`)).status, { timeout: 20_000 }).toBe("waiting");
  return trace;
}

async function ended(place: Place, trace: string): Promise<void> {
  await expect.poll(async () => (await place.get<Ended>(`/api/traces/${trace}`)).status, { timeout: 20_000 }).toBe("completed");
}

async function events(place: Place, trace: string): Promise<{ type: string; data: Record<string, unknown> }[]> {
  return (await place.get<{ events: { type: string; data: Record<string, unknown> }[] }>(`/api/traces/${trace}/events?limit=500`)).events;
}

const item = (page: Page, name: string | RegExp) => page.getByRole("region", { name: "What waits for you" }).getByRole("button", { name });
const once = (page: Page) => page.getByRole("button", { name: /^Allow once/ });

test("a call is allowed by the keyboard alone, after all of it was seen", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  const first = await waits(place, writes("one\ntwo\n"));
  const second = await waits(place, commands("echo hi > b.txt"));
  await page.goto(`${place.ui}inbox`);
  await expect(item(page, /write_text_file/)).toHaveAttribute("aria-current", "true");
  await expect(page.getByRole("region", { name: "content" })).toHaveText("one\ntwo\n");
  await expect(page.getByRole("region", { name: "The call" })).toContainText("builtin.ask");
  await expect(page.getByRole("region", { name: "The call" })).toContainText("This changes files.");
  await expect(page.getByText("no page, MCP server or message")).toBeVisible();
  await expect(page.getByText("You have seen the whole call.")).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  await page.keyboard.press("a");
  await expect(page.getByRole("article").getByText("allowed", { exact: true })).toBeVisible();
  await ended(place, first);
  expect(await readFile(join(place.work, "a.txt"), "utf8")).toBe("one\ntwo\n");

  await page.keyboard.press("j");
  await expect(item(page, /bash/)).toBeFocused();
  await expect(page.getByRole("region", { name: "command" })).toHaveText("echo hi > b.txt");
  await page.keyboard.press("d");
  await page.getByLabel("Reason").fill("Not now.");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("article").getByText("denied", { exact: true })).toBeVisible();
  await ended(place, second);
  const denial = (await events(place, second)).find((event) => event.type === "approval_denied");
  expect(denial?.data["reason"]).toBe("Not now.");
  await page.getByRole("button", { name: "Clear decided (2)" }).click();
  await expect(page.getByText("Nothing waits for you.")).toBeVisible();
  expect(said).toEqual([]);
});

test("closing a dialog decides nothing", async ({ signedIn: page, place }) => {
  const trace = await waits(place, commands("echo hi"));
  await page.goto(`${place.ui}inbox`);
  await expect(once(page)).toBeEnabled();
  for (const key of ["d", "e", "?"]) {
    await page.keyboard.press(key);
    await expect(page.getByRole("dialog")).toBeVisible();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  }
  await page.keyboard.press("d");
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.keyboard.press("l");
  await expect(item(page, /later/)).toBeVisible();
  const open = await place.get<{ approvals: unknown[] }>(`/api/traces/${trace}/approvals`);
  expect(open.approvals).toHaveLength(1);
});

test("a call runs with the arguments of the person", async ({ signedIn: page, place }) => {
  const trace = await waits(place, commands("echo theirs > c.txt"));
  await page.goto(`${place.ui}inbox`);
  await expect(once(page)).toBeEnabled();
  await page.keyboard.press("e");
  await page.getByRole("textbox", { name: "command" }).fill("echo mine > c.txt");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("article").getByText("allowed, edited")).toBeVisible();
  await ended(place, trace);
  expect(await readFile(join(place.work, "c.txt"), "utf8")).toBe("mine\n");
});

test("the edit dialog shows a text once, with its invisible characters as codes, and sends what the codes stand for", async ({ signedIn: page, place }) => {
  const trace = await waits(place, commands("printf 'a\u202eb\u200b' > c.txt"));
  await page.goto(`${place.ui}inbox`);
  await expect(once(page)).toBeEnabled();
  await page.keyboard.press("e");
  const field = page.getByRole("textbox", { name: "command" });
  await expect(field).toHaveValue("printf 'a⟨U+202E⟩b⟨U+200B⟩' > c.txt");
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("region")).toHaveCount(0);
  await expect(field).toHaveAccessibleDescription(/^Invisible characters are shown as codes/);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await field.fill("printf 'a⟨U+202E⟩b\u200d' > c.txt");
  await expect(field).toHaveValue("printf 'a⟨U+202E⟩b⟨U+200D⟩' > c.txt");
  await field.fill("printf 'a⟨U+202E⟩b' > c.txt");
  await page.keyboard.press("Control+Enter");
  await ended(place, trace);
  expect(await readFile(join(place.work, "c.txt"), "utf8")).toBe("a\u202eb");
});

test("a long command cannot be allowed while a part of it is hidden", async ({ signedIn: page, place }) => {
  const lines = Array.from({ length: 300 }, (_, at) => `echo line ${at}`).join("\n");
  const trace = await waits(place, commands(`${lines}\n`));
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByRole("region", { name: "command" })).toContainText("echo line 299");
  await expect(once(page)).toBeDisabled();
  await page.keyboard.press("a");
  await expect(page.getByText("Read the whole call first")).toHaveClass(/urged/);
  // The end alone is not the whole.
  const call = page.getByRole("region", { name: "The call" });
  await call.evaluate((element) => element.scrollTo({ top: element.scrollHeight }));
  await call.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await expect(once(page)).toBeDisabled();
  await call.evaluate((element) => element.scrollTo({ top: 0 }));
  await item(page, /bash/).focus();
  await expect(async () => {
    await page.keyboard.press("Space");
    await expect(once(page)).toBeEnabled({ timeout: 50 });
  }).toPass();
  await page.keyboard.press("a");
  await ended(place, trace);
});

test("what a command hides is spelled out, and more than is laid out at once is not allowed unseen", async ({ signedIn: page, place }) => {
  await waits(place, commands("true \u001b]0; echo \u202eevil\u200d > d.txt"));
  await waits(place, writes("x".repeat(150_000), "long.txt"));
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByRole("region", { name: "command" })).toHaveText("true ⟨U+001B⟩]0; echo ⟨U+202E⟩evil⟨U+200D⟩ > d.txt");
  await item(page, /long\.txt/).click();
  await expect(page.getByText("50,008 more characters are not shown yet.")).toBeAttached();
  const call = page.getByRole("region", { name: "The call" });
  const through = async (): Promise<void> => {
    for (let page_ = 0; page_ < 400; page_++) {
      const isEnd = await call.evaluate(async (element) => {
        element.scrollBy({ top: element.clientHeight * 0.9 });
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        return element.scrollTop + element.clientHeight >= element.scrollHeight - 1;
      });
      if (isEnd) return;
    }
  };
  await through();
  await expect(once(page)).toBeDisabled();
  await page.getByRole("button", { name: "Show the next part" }).click();
  await through();
  await expect(once(page)).toBeEnabled();
});

test("an edit is shown as a diff", async ({ signedIn: page, place }) => {
  await waits(place, [
    { calls: [{ tool: "edit_text_file", args: { path: "README.md", edits: [{ old_text: "hello world", new_text: "bye world" }] } }] },
    { final: "Edited." },
  ]);
  await page.goto(`${place.ui}inbox`);
  const diff = page.getByRole("region", { name: "Changes: README.md" });
  await expect(diff).toContainText("removed: hello world");
  await expect(diff).toContainText("added: bye world");
});

test("who comes second is told, and by whom it was decided", async ({ signedIn: page, place }) => {
  const trace = await waits(place, commands("echo hi"));
  await page.goto(`${place.ui}inbox`);
  await expect(once(page)).toBeEnabled();
  // The page is kept from asking again, so that it decides on what it believes to be open.
  await page.route("**/api/approvals?*", (route) => route.abort());
  const { approvals } = await place.get<{ approvals: { call: string }[] }>(`/api/traces/${trace}/approvals`);
  await place.ask("POST", `/api/traces/${trace}/approvals/${approvals[0]?.call}`, { decision: "deny", reason: "No." });
  await ended(place, trace);
  await page.keyboard.press("d");
  await page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
  await expect(page.getByText("Somebody else was first.")).toBeVisible();
  await expect(page.getByText("Denied by user.")).toBeVisible();
});

test("what is new comes without a reload, and moves nothing that is there", async ({ signedIn: page, place }) => {
  await waits(place, commands("echo one"));
  await page.goto(`${place.ui}inbox`);
  await item(page, /echo one/).focus();
  const before = await item(page, /echo one/).boundingBox();
  await waits(place, asks);
  await waits(place, writes("x"));
  await expect(item(page, /Which colour/)).toBeVisible();
  await expect(item(page, /write_text_file/)).toBeVisible();
  expect(await item(page, /echo one/).boundingBox()).toEqual(before);
  await expect(item(page, /echo one/)).toBeFocused();
  await expect(item(page, /echo one/)).toHaveAttribute("aria-current", "true");
});

test("a question is answered", async ({ signedIn: page, place }) => {
  const trace = await waits(place, asks);
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByText("Which colour?").last()).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByLabel("blue").check();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(page.getByRole("article").getByText("answered", { exact: true })).toBeVisible();
  await ended(place, trace);
  expect(JSON.stringify(await events(place, trace))).toContain("user answered:\\n> blue");
});

test("a lost server is said, and what waits is there again when it is back", async ({ signedIn: page, place }) => {
  await waits(place, commands("echo hi"));
  await page.clock.install();
  await page.goto(`${place.ui}inbox`);
  await expect(item(page, /bash/)).toBeVisible();
  await place.kill();
  await expect(page.getByText("Connection lost, trying again")).toBeVisible();
  await expect(item(page, /bash/)).toBeVisible();
  await place.start();
  await healed(page, () => expect(page.getByText("Connection lost, trying again")).toHaveCount(0, { timeout: 2000 }));
  await expect(item(page, /bash/)).toBeVisible();
});

test("agents that cannot be asked are one line that opens, and do not push away what waits", async ({ signedIn: page, place }) => {
  await waits(place, commands("echo hi"));
  await page.route("**/api/approvals?*", async (route) => {
    const body = (await (await route.fetch()).json()) as object;
    const unasked = Array.from({ length: 60 }, (_, n) => ({ trace_id: `agent://far\u200b/${n}`, problem: "no answer" }));
    await route.fulfill({ json: { ...body, unasked } });
  });
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByText("agent://far")).toHaveCount(60);
  await expect(page.getByText("agent://far").first()).toBeHidden();
  await page.getByText("60 agents cannot be asked whether they wait").click();
  await expect(page.getByText("agent://far⟨U+200B⟩/0: no answer")).toBeVisible();
  await expect(item(page, /echo hi/)).toBeInViewport();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("by a shown rule: only where one is offered, with its patterns, for the trace or always", async ({ signedIn: page, place }) => {
  const trace = await waits(place, commands("echo hi"));
  await page.goto(`${place.ui}inbox`);
  await expect(once(page)).toBeEnabled();
  const hasOffer = (await (await place.ask("GET", "/api/approvals")).text()).includes('"offer"');
  if (!hasOffer) await expect(page.getByRole("button", { name: /for this trace/ })).toHaveCount(0);

  // The binary of today offers none: the page is shown the answer of the next version, and what it would send is looked at.
  await page.route("**/api/approvals?*", async (route) => {
    const body = (await (await route.fetch()).json()) as { approvals: object[] };
    await route.fulfill({ json: { ...body, approvals: body.approvals.map((one) => ({ ...one, offer: ["bash(echo *)"] })) } });
  });
  const sent: unknown[] = [];
  await page.route("**/api/traces/*/approvals/*", async (route) => {
    sent.push(route.request().postDataJSON());
    await route.fulfill({ status: 202, json: { trace_id: trace, status: "sent" } });
  });
  await page.reload();
  await expect(page.getByText("bash(echo *)")).toBeVisible();
  await expect(page.getByRole("button", { name: /^Always allow/ })).toBeEnabled();
  await page.keyboard.press("w");
  await expect(page.getByRole("article").getByText("always allowed")).toBeVisible();
  await page.reload();
  await expect(page.getByRole("button", { name: /for this trace/ })).toBeEnabled();
  await page.keyboard.press("t");
  await expect(page.getByRole("article").getByText("allowed for this trace")).toBeVisible();
  expect(sent).toEqual([
    { decision: "approve", for: "always" },
    { decision: "approve", for: "trace" },
  ]);
});

for (const look of [
  { name: "light", width: 1280, language: "en" },
  { name: "dark", width: 1280, language: "zh" },
  { name: "light", width: 360, language: "en" },
  { name: "dark", width: 360, language: "zh" },
]) {
  test(`the inbox is whole in ${look.name}, ${look.language}, ${look.width} px`, async ({ signedIn: page, place }) => {
    await waits(place, writes("# Notes\n\nfirst line\nsecond line\n", "notes.md"));
    await waits(place, asks);
    await page.setViewportSize({ width: look.width, height: 780 });
    await page.addInitScript(
      ([theme, language]) => {
        localStorage.setItem("mainpath.theme", theme ?? "");
        localStorage.setItem("mainpath.language", language ?? "");
      },
      [look.name, look.language],
    );
    await page.goto(`${place.ui}inbox`);
    const rows = page.locator(".item[data-key]");
    await expect(rows).toHaveCount(2);
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    await rows.first().click();
    await expect(page.locator("article .primary")).toBeVisible();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(look.width);
    const folder = process.env["SHOTS"];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/inbox-${look.name}-${look.width}.png` });
  });
}

test("a key that may only look is shown nothing that would be refused, and why", async ({ page, place }) => {
  const trace = await waits(place, writes("one\n"));
  const { key } = (await (await place.ask("POST", "/api/keys", { name: "guest", scopes: ["read"] })).json()) as { key: string };
  await page.addInitScript((secret) => sessionStorage.setItem("mainpath.key", secret), key);
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByText("Your key may look, but not decide.")).toBeVisible();
  await expect(once(page)).toHaveCount(0);
  await page.getByRole("region", { name: "The call" }).focus();
  await page.keyboard.press("d");
  await expect(page.getByRole("dialog")).toHaveCount(0);

  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByText("Your key may look, but not talk to agents.")).toBeVisible();
  await expect(page.getByText("Your key may look, but not decide.")).toBeVisible();
  await expect(page.getByRole("button", { name: /^(Stop|Steer|Next|Compact)/ })).toHaveCount(0);
  await page.goto(`${place.ui}runs`);
  await expect(page.locator(`[data-trace="${trace}"]`)).toBeVisible();
  await expect(page.getByRole("button", { name: "Start a run" })).toHaveCount(0);
});
