import AxeBuilder from "@axe-core/playwright";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { complaints, expect, healed, test } from "./place";

const looks: object[] = [
  { text: "I look.", calls: [{ tool: "read_text_file", args: { path: "README.md" } }] },
  { final: "It says **hello**." },
];

async function axe(page: Page): Promise<void> {
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
}

const verdict = (page: Page) => page.locator("[data-part=verdict]");

test("every wrong field is said at its place, by the page and by the server", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  await page.goto(`${place.ui}configure`);
  await expect(verdict(page)).toHaveText("Some fields cannot be used.");
  await page.getByLabel("Model model").fill("nope:x");
  await page.getByLabel("Temperature").fill("9");
  await page.getByLabel("Steps").fill("0");
  await page.getByLabel("Tool calls").fill("1.5");
  await expect(page.getByText("This must be at most 2.")).toBeVisible();
  await expect(page.getByText("This must be at least 1.")).toBeVisible();
  await expect(page.getByText("This must be a whole number.")).toBeVisible();
  await expect(page.getByLabel("Temperature")).toHaveAttribute("aria-invalid", "true");

  await page.getByLabel("Temperature").fill("0.2");
  await page.getByLabel("Steps").fill("3");
  await page.getByLabel("Tool calls").fill("");
  await page.getByLabel("Add an alias or pattern").fill("nothing_like_it");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByText('unknown model "nope:x"')).toBeVisible();
  await expect(page.getByText('there is no tool "nothing_like_it"')).toBeVisible();
  await axe(page);
  await page.getByRole("button", { name: "Remove nothing_like_it" }).click();
  await page.getByLabel("Model model").fill(await place.model(looks));
  await expect(verdict(page)).toHaveText("The server accepts this configuration.");
  expect(await place.get<{ traces: object[] }>("/api/traces")).toMatchObject({ traces: [] });
  expect(said).toEqual([]);
});

test("tools are chosen by what they do, and the file has what was chosen", async ({ signedIn: page, place }) => {
  const model = await place.model(looks);
  await page.goto(`${place.ui}configure`);
  await page.getByLabel("Model model").fill(model);
  const readOnly = page.getByRole("group", { name: "Only read" });
  await readOnly.getByRole("checkbox", { name: /^read_text_file/ }).check();
  await page.getByRole("group", { name: "Change files" }).getByRole("checkbox", { name: /^edit_text_file/ }).check();
  await expect(page.getByRole("checkbox", { name: /^ask_human/ })).toBeDisabled();
  await expect(page.getByLabel("Primary output")).toHaveAttribute("readonly", "");
  await expect(verdict(page)).toHaveText("The server accepts this configuration.");

  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download", exact: true }).click();
  const file = await readFile(await (await download).path(), "utf8");
  expect(JSON.parse(file)).toEqual({ model, max_steps: 5, allowed_tools: ["read_text_file", "edit_text_file"], primary_output: "final_answer" });

  const second = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download as preset" }).click();
  await mkdir(join(place.home, "agents"), { recursive: true });
  await writeFile(join(place.home, "agents/agent.md"), await readFile(await (await second).path(), "utf8"));
  await page.getByRole("link", { name: "Presets" }).click();
  const item = page.getByRole("listitem").filter({ hasText: /^agent/ });
  await expect(item).toContainText("read_text_file, edit_text_file");
  await expect(item).toContainText("5 turns");
  await expect(item).toContainText("ready");
});

test("a configuration is loaded, and what it has too much is said", async ({ signedIn: page, place }) => {
  await page.goto(`${place.ui}configure`);
  await page.getByRole("button", { name: "Load …" }).click();
  await page.getByLabel("JSON").fill("{");
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await expect(page.getByText("This is not a JSON object.")).toBeVisible();
  const config = { model: await place.model(looks), max_steps: 2, allowed_tools: ["grep"], timeout: 9, stream: true };
  await page.getByLabel("JSON").fill(JSON.stringify({ config }));
  await page.getByRole("button", { name: "Load", exact: true }).click();
  await expect(page.getByText("no such field: stream")).toBeVisible();
  await expect(page.getByLabel("Time limit of the run")).toHaveValue("9");
  await expect(page.getByRole("checkbox", { name: /^grep/ })).toBeChecked();
  await expect(verdict(page)).toHaveText("The server accepts this configuration.");
});

test("a run is tried with values for its variables, and streams its steps and its answer", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  await page.goto(`${place.ui}configure`);
  await page.getByLabel("Model model").fill(await place.model(looks));
  await page.getByRole("checkbox", { name: /^read_text_file/ }).check();
  await page.getByLabel("Prompt", { exact: true }).fill("Look for ");
  await page.getByRole("button", { name: "Variables" }).click();
  await page.getByLabel("Name", { exact: true }).fill("customer");
  await page.keyboard.press("Enter");
  await page.getByRole("combobox", { name: "Source" }).selectOption("env");
  await page.getByLabel("Name", { exact: true }).fill("REGION");
  await page.getByRole("button", { name: "Insert into prompt" }).click();
  await expect(page.getByLabel("Prompt", { exact: true })).toHaveValue(/Look for .*\{\{external\.customer\}\}/);
  await page.getByLabel("external.customer").fill("Customer 7");
  await expect(page.getByText("Sent as they are, without a value: env.REGION")).toBeVisible();
  await page.getByRole("button", { name: "Run", exact: true }).click();

  const answer = page.getByRole("status").filter({ hasText: "final_answer" });
  await expect(answer).toContainText("It says hello.");
  await expect(answer.locator("strong")).toHaveText("hello");
  await expect(answer).toContainText("finish_reason final");
  const step = page.getByRole("list", { name: "Steps" }).getByRole("listitem");
  await expect(step).toHaveCount(1);
  await step.getByRole("button").click();
  await expect(step.getByRole("region", { name: "Observation" })).toContainText("hello world");
  await expect(step.locator('[data-state="ended"]', { hasText: "allow" })).toBeVisible();
  await expect(step).toContainText("builtin.read-only");
  await axe(page);

  const { traces } = await place.get<{ traces: { trace_id: string; task: string }[] }>("/api/traces");
  expect(traces).toHaveLength(1);
  expect(traces[0]?.task).toContain("Customer 7");
  expect(traces[0]?.task).toContain("{{env.REGION}}");
  await page.getByRole("link", { name: "Open the run" }).click();
  await expect(page).toHaveURL(new RegExp(`runs/${traces[0]?.trace_id}`));
  expect(said).toEqual([]);
});

test("a trial whose server went away is found again under its key", async ({ signedIn: page, place }) => {
  await page.goto(`${place.ui}configure`);
  await page.getByLabel("Model model").fill(await place.model([{ calls: [{ tool: "sandbox", args: { command: "while [ ! -e go ]; do sleep 0.1; done; echo slept" } }] }, { final: "Slept." }]));
  await page.getByRole("checkbox", { name: /^sandbox/ }).check();
  await page.getByLabel("Prompt", { exact: true }).fill("Sleep.");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("list", { name: "Steps" }).getByText("sandbox")).toBeVisible();
  await place.kill();
  await expect(page.getByText("The server does not answer.").first()).toBeVisible();
  await place.start();
  await writeFile(join(place.work, "go"), "");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("status").filter({ hasText: "final_answer" })).toContainText("Slept.", { timeout: 30_000 });
  expect((await place.get<{ traces: object[] }>("/api/traces")).traces).toHaveLength(1);
});

test("a preset goes into the panel", async ({ signedIn: page, place }) => {
  await page.goto(`${place.ui}configure?part=presets`);
  await page.getByRole("button", { name: "Use in the panel explore" }).click();
  await expect(page.getByLabel("Steps")).toHaveValue("15");
  await expect(page.getByRole("checkbox", { name: /^grep/ })).toBeChecked();
  await expect(page.getByRole("checkbox", { name: /^bash/ })).not.toBeChecked();
});

test("rules are listed, and say what they would say of a call", async ({ signedIn: page, place }) => {
  await page.goto(`${place.ui}configure?part=rules&rule=builtin.force-push`);
  await expect(page.locator("[data-rule='builtin.force-push']")).toBeInViewport();
  await page.getByLabel("Call").fill("bash(rm -rf / && ls)");
  await page.keyboard.press("Enter");
  const said = page.getByRole("region", { name: "What would the rules say?" });
  await expect(said.locator("p").filter({ hasText: "deny" })).toContainText("builtin.destroy");
  await expect(said.getByRole("listitem")).toHaveCount(3);
  await page.getByLabel("Call").fill("write(a.txt)");
  await page.getByLabel("Access").selectOption("workspace-write");
  await page.getByRole("button", { name: "Check" }).click();
  await expect(said.locator("p").filter({ hasText: "allow" })).toBeVisible();
  await page.getByLabel("Filter").click();
  await page.getByLabel("Filter").fill("force push");
  await expect(page.getByText(/^\d of \d+$/)).toBeVisible();
  await axe(page);
});

test("a key is made, shown once, works, and is refused once it is revoked", async ({ signedIn: page, place }) => {
  await page.goto(`${place.ui}configure?part=keys`);
  await page.getByLabel("Name").fill("ci");
  await page.getByLabel("Expires after days").fill("90");
  await page.getByRole("checkbox", { name: /^run/ }).check();
  await page.getByRole("button", { name: "Make key" }).click();
  const secret = (await page.locator("code.secret").textContent()) ?? "";
  expect(secret.length).toBeGreaterThan(20);
  await expect(page.getByRole("listitem").filter({ hasText: "ci" })).toContainText("read, run");
  await axe(page);
  const answer = async (): Promise<number> => page.evaluate(async (key) => (await fetch("/api/traces", { headers: { authorization: `Bearer ${key}` } })).status, secret);
  expect(await answer()).toBe(200);

  await page.reload();
  await expect(page.getByRole("listitem").filter({ hasText: "ci" })).toBeVisible();
  await expect(page.getByText(secret)).toHaveCount(0);
  await page.getByRole("button", { name: "Revoke ci" }).click();
  await page.keyboard.press("Escape");
  expect(await answer()).toBe(200);
  await page.getByRole("button", { name: "Revoke ci" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "ci" })).toHaveCount(0);
  expect(await answer()).toBe(401);
});

test("skills, experiences and models are plain lists", async ({ signedIn: page, place }) => {
  await mkdir(join(place.home, "experiences"), { recursive: true });
  await writeFile(
    join(place.home, "experiences/one.md"),
    "---\nid: ex_k3v9qa\ncategory: tool_usage\nintent: [batch_edit]\n---\n\nCommit before a batch edit.\n",
  );
  await page.goto(`${place.ui}configure`);
  await page.getByRole("link", { name: "Skills" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "planning" })).toContainText("ready");
  await axe(page);
  await page.getByRole("link", { name: "Experiences" }).click();
  await expect(page.getByText("Commit before a batch edit.")).toBeVisible();
  await axe(page);
  await page.getByRole("link", { name: "Models" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "ollama" })).toContainText("local");
  await axe(page);
});

for (const look of [
  { name: "light", width: 1280, language: "en" },
  { name: "dark", width: 1280, language: "zh" },
  { name: "light", width: 360, language: "zh" },
  { name: "dark", width: 360, language: "en" },
]) {
  test(`every part of the configuration is whole in ${look.name}, ${look.language}, ${look.width} px`, async ({ signedIn: page, place }) => {
    await page.setViewportSize({ width: look.width, height: 780 });
    await page.addInitScript(
      ([theme, language]) => {
        localStorage.setItem("mainpath.theme", theme ?? "");
        localStorage.setItem("mainpath.language", language ?? "");
      },
      [look.name, look.language],
    );
    for (const part of ["agent", "presets", "rules", "keys"]) {
      await page.goto(`${place.ui}configure?part=${part}`);
      await expect(page.locator("code, .mono").first()).toBeVisible();
      if (part === "agent") {
        await page.locator("input[list=models]").fill(await place.model(looks));
        await page.getByRole("checkbox", { name: /^grep/ }).check();
        await expect(page.locator("pre").first()).toBeVisible();
      }
      await axe(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(look.width);
      const folder = process.env["SHOTS"];
      await page.locator("main").evaluate((element) => element.scrollTo({ top: 0 }));
      if (folder !== undefined) await page.screenshot({ path: `${folder}/configure-${part}-${look.name}-${look.width}.png` });
    }
  });
}

test("tools that could not be listed are no empty list, and are listed when the server answers", async ({ signedIn: page, place }) => {
  await page.route("**/api/tools", (route) => route.abort());
  const models = page.waitForResponse("**/api/models");
  await page.clock.install();
  await page.goto(`${place.ui}configure`);
  await models;
  await expect(page.getByText("No tools: the agent can only answer.")).toHaveCount(0);
  await page.unroute("**/api/tools");
  await healed(page, () => expect(page.getByRole("checkbox", { name: /^ask_human/ })).toBeVisible({ timeout: 2000 }));
  await expect(page.getByRole("alert")).toHaveCount(0);
});
