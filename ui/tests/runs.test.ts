import AxeBuilder from "@axe-core/playwright";
import { complaints, expect, healed, test } from "./place";

const WRITES = [{ calls: [{ tool: "write_text_file", args: { path: "a.txt", content: "x" } }] }, { final: "Written." }];
const SLOW = [{ calls: [{ tool: "bash", args: { command: "while [ ! -e done ]; do sleep 0.1; done" } }] }, { final: "Slept." }];

test("a run that starts, waits and ends elsewhere is seen without a reload", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  await page.goto(place.ui);
  await expect(page.getByText("No runs yet.")).toBeVisible();
  const trace = await place.run(WRITES, { task: "Write a file." });
  const row = page.locator(`[data-trace="${trace}"]`);
  await expect(row).toContainText("Write a file");
  await expect(row.locator('[data-state="waiting"]').last()).toHaveText("approve write_text_file");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  const { approvals } = await place.get<{ approvals: { call: string }[] }>("/api/approvals");
  await place.ask("POST", `/api/traces/${trace}/approvals/${approvals[0]?.call}`, { decision: "approve" });
  await expect(row.locator('[data-state="ended"]')).toBeVisible();
  expect(said).toEqual([]);
});

test("what runs now is named, and the filters are in the address", async ({ signedIn: page, place }) => {
  await place.run(WRITES, { task: "The one that waits." });
  await place.run([{ final: "Hi." }], { task: "The one that ends." });
  const slow = await place.run(SLOW, { task: "The one that runs.", access: "workspace-write" }, "begun");
  await page.goto(place.ui);
  await expect(page.getByRole("status").getByRole("link", { name: /The one that runs/ })).toHaveAttribute("href", new RegExp(slow));

  await page.getByLabel("State").selectOption("completed");
  await expect(page.locator("[data-trace]")).toHaveCount(1);
  await expect(page).toHaveURL(/state=completed/);
  await page.reload();
  await expect(page.locator("[data-trace]")).toHaveCount(1);
  await expect(page.locator("[data-trace]")).toContainText("The one that ends");

  await page.getByLabel("Day").fill("2001-01-01");
  await expect(page.getByText("No run fits these filters.")).toBeVisible();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page.locator("[data-trace]")).toHaveCount(3);
  await place.ask("POST", `/api/traces/${slow}/stop`, {});
});

test("words are found in what was said, and lead to their message", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "The answer is a zebra." }], { task: "Name an animal." });
  await page.goto(place.ui);
  await page.getByRole("searchbox", { name: "Search in all runs" }).fill("zebra");
  const place_ = page.getByRole("region", { name: "Matches" }).getByRole("link");
  await expect(place_).toContainText("zebra");
  await expect(page.getByRole("status").filter({ hasText: "one match" })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await place_.click();
  await expect(page).toHaveURL(new RegExp(`/runs/${trace}/conversation\\?message=2`));
});

test("what was found comes in parts", async ({ signedIn: page, place }) => {
  await place.run([{ final: "An okapi eats leaves." }], { task: "Tell of the okapi." });
  // A part is a hundred places; here it is one.
  await page.route("**/api/search?**", (route) => route.continue({ url: route.request().url().replace("limit=100", "limit=1") }));
  await page.goto(place.ui);
  await page.getByRole("searchbox", { name: "Search in all runs" }).fill("okapi");
  const results = page.getByRole("region", { name: "Matches" });
  await expect(results.getByRole("status")).toHaveText("the first match");
  await results.getByRole("button", { name: "Show more" }).click();
  await expect(results.getByRole("status")).toHaveText("2 matches");
  await expect(results.getByRole("link")).toHaveCount(2);
  await expect(results.getByRole("button", { name: "Show more" })).toHaveCount(0);
});

test("a run is started by keyboard alone", async ({ signedIn: page, place }) => {
  const model = await place.model([{ final: "Done." }]);
  await page.goto(place.ui);
  await page.getByRole("button", { name: "Start a run" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Start a run" })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
  await page.getByLabel("Task").fill("Say done.");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type(model);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/runs\/[^/]+\/conversation/);
  const { traces } = await place.get<{ traces: { task: string }[] }>("/api/traces");
  expect(traces.map((trace) => trace.task)).toEqual(["Say done."]);
});

test("closing the dialog starts nothing, and a refusal is said in it", async ({ signedIn: page, place }) => {
  await page.goto(place.ui);
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByLabel("Task").fill("Never.");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByLabel("Task").fill("Never.");
  await page.getByLabel("Model").fill("nobody:nothing");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await expect(page.getByRole("alert")).toContainText("nobody");
  expect((await place.get<{ traces: object[] }>("/api/traces")).traces).toEqual([]);
});

test("a server that is gone is said, and its return is seen without a reload", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "Hi." }]);
  await page.clock.install();
  await page.goto(place.ui);
  await expect(page.locator(`[data-trace="${trace}"]`)).toBeVisible();
  await place.kill();
  await expect(page.getByRole("alert")).toContainText("The server does not answer.");
  await expect(page.locator(`[data-trace="${trace}"]`)).toBeVisible();
  await place.start();
  await healed(page, () => expect(page.getByRole("alert")).toBeHidden({ timeout: 2000 }));
});

test("a search that could not be made is said, made again when the server answers, and shows no hits of other words", async ({ signedIn: page, place }) => {
  await place.run([{ final: "A zebra and an okapi." }]);
  await page.clock.install();
  await page.goto(`${place.ui}runs`);
  const field = page.getByRole("searchbox", { name: "Search in all runs" });
  await field.fill("zebra");
  await expect(page.locator("mark")).toHaveText("zebra");
  await page.route("**/api/search?**", (route) => route.abort());
  await field.fill("okapi");
  const matches = page.getByRole("region", { name: "Matches" });
  await expect(page.locator("mark")).toHaveCount(0);
  await expect(matches.getByText("The server does not answer.").or(matches.getByText("Loading"))).toBeVisible();
  await page.unroute("**/api/search?**");
  await healed(page, () => expect(page.locator("mark")).toHaveText("okapi", { timeout: 2000 }));
  await expect(matches.getByRole("alert")).toHaveCount(0);
});
