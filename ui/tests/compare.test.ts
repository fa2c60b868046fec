import AxeBuilder from "@axe-core/playwright";
import { complaints, expect, test, type Place } from "./place";

const reads = (final: string, path = "README.md"): object[] => [
  { text: "I look.", calls: [{ tool: "read_text_file", args: { path } }] },
  { final },
];
const writes = (content: string): object[] => [
  { text: "I look.", calls: [{ tool: "read_text_file", args: { path: "README.md" } }] },
  { calls: [{ tool: "write_text_file", args: { path: "notes.md", content } }] },
  { final: "Written." },
];

/** Two runs of one task that begin alike. */
async function two(place: Place): Promise<[string, string]> {
  const a = await place.run(reads("It says hello."), { task: "What does the file say?" });
  const b = await place.run(writes("hello"), { task: "What does the file say?", access: "workspace-write" });
  return [a, b];
}

test("two runs are found by search, and the address names them", async ({ signedIn: page, place }) => {
  const said = complaints(page);
  const [a, b] = await two(place);
  await page.goto(`${place.ui}compare`);
  await expect(page.getByText("Choose two runs.")).toBeVisible();
  await page.getByRole("combobox", { name: "Run A" }).click();
  await page.getByRole("combobox", { name: "Run A" }).fill("hello");
  await page.getByRole("option", { name: new RegExp(a) }).click();
  await expect(page).toHaveURL(new RegExp(`a=${a}`));
  await page.getByRole("combobox", { name: "Run B" }).fill(b);
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`b=${b}`));
  await expect(page.getByRole("heading", { name: "First difference: message 4" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "First difference: message 4" })).toBeVisible();
  await expect(page.getByRole("combobox", { name: "Run A" })).toHaveValue(/What does the file say/);
  await page.getByRole("button", { name: "Swap A and B" }).click();
  await expect(page).toHaveURL(new RegExp(`a=${b}.*b=${a}`));
  expect(said).toEqual([]);
});

test("what is common, the first difference, and both sides with their deltas", async ({ signedIn: page, place }) => {
  const [a, b] = await two(place);
  await page.goto(`${place.ui}compare?a=${a}&b=${b}`);
  const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name} `) });
  await expect(row("Calls that ran").getByRole("cell")).toHaveText(["1", "2", "+1"]);
  await expect(row("Turns").getByRole("cell")).toHaveText(["2", "3", "+1"]);
  await expect(row("Verdict: allow").getByRole("cell")).toHaveText(["1", "2", "+1"]);
  await expect(row("write_text_file").getByRole("cell")).toHaveText(["0", "1", "+1"]);
  await expect(row("notes.md").getByRole("cell")).toHaveText(["not changed", "5 B", "only B"]);
  await expect(row("Outcome").getByRole("cell")).toContainText([/ended/, /ended/, "same"]);
  const difference = page.locator("[data-part=difference]");
  await expect(difference).toContainText("removed: It says hello.");
  await expect(difference).toContainText("added: → write_text_file");
  await page.getByRole("button", { name: "3 common messages" }).click();
  await expect(page.getByText("What does the file say?").last()).toBeVisible();
  const sides = page.getByRole("region", { name: "Side by side" });
  await expect(sides.getByText("Message 4")).toHaveCount(2);
  await expect(sides.getByText("no more messages")).not.toHaveCount(0);
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("runs that are alike, the same run, and one that there is none of are said", async ({ signedIn: page, place }) => {
  const a = await place.run(reads("Same."), { task: "Look." });
  const b = await place.run(reads("Same."), { task: "Look." });
  await page.goto(`${place.ui}compare?a=${a}&b=${b}`);
  await expect(page.getByText("All messages are the same.")).toBeVisible();
  await page.goto(`${place.ui}compare?a=${a}&b=${a}`);
  await expect(page.getByText("A and B are the same run.")).toBeVisible();
  await page.goto(`${place.ui}compare?a=${a}&b=20200101-000000-aaaaaa`);
  await expect(page.getByRole("alert")).toContainText("Not found");
});

for (const look of [
  { name: "light", width: 1280, language: "en" },
  { name: "dark", width: 1280, language: "zh" },
  { name: "light", width: 360, language: "zh" },
  { name: "dark", width: 360, language: "en" },
]) {
  test(`the comparison is whole in ${look.name}, ${look.language}, ${look.width} px`, async ({ signedIn: page, place }) => {
    const [a, b] = await two(place);
    await page.setViewportSize({ width: look.width, height: 780 });
    await page.addInitScript(
      ([theme, language]) => {
        localStorage.setItem("mainpath.theme", theme ?? "");
        localStorage.setItem("mainpath.language", language ?? "");
      },
      [look.name, look.language],
    );
    await page.goto(`${place.ui}compare?a=${a}&b=${b}`);
    await expect(page.locator(".pair").first()).toBeVisible();
    await expect(page.getByRole("row", { name: /notes\.md/ })).toBeVisible();
    expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(look.width);
    const folder = process.env["SHOTS"];
    if (folder === undefined) return;
    await page.screenshot({ path: `${folder}/compare-${look.name}-${look.width}.png` });
    await page.locator(".sides").scrollIntoViewIfNeeded();
    await page.screenshot({ path: `${folder}/compare-${look.name}-${look.width}-sides.png` });
  });
}
