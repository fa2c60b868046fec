// What somebody sees who comes for the first time, with too little a key, or to the wrong address.
import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "./place";

test("the sign-in page says where the key lies", async ({ page, place }) => {
  await page.goto(place.ui);
  await expect(page.getByText("Paste your key. On this machine it is in the file that mainpath serve names, usually ~/.local/share/mainpath/server/token")).toBeVisible();
});

test("where no model has a key, whoever starts a run is told what to do", async ({ signedIn: page, place }) => {
  await page.goto(place.ui);
  await page.getByRole("button", { name: "Start a run" }).click();
  await expect(page.getByText("No vendor's key is set where the server runs.")).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("a run that is not there is said in the page's language, and nothing can be said to it", async ({ signedIn: page, place }) => {
  await page.addInitScript(() => localStorage.setItem("mainpath.language", "zh"));
  for (const zoom of ["", "/conversation", "/events"]) {
    await page.goto(`${place.ui}runs/20200101-000000-abcdef${zoom}`);
    await expect(page.getByRole("alert")).toContainText("未找到");
    await expect(page.getByRole("textbox")).toHaveCount(0);
    await expect(page.getByText("加载中")).toHaveCount(0);
  }
});

test("a key that may only read sees all, and is told what it may not", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ calls: [{ tool: "bash", args: { command: "rm -rf build" } }] }], { task: "Clean up." });
  const made = await place.command("keys", "new", "reader", "--scopes", "read");
  const key = made.split(/\s+/).find((word) => word.length > 30) ?? "";
  await page.goto(place.ui);
  await page.evaluate((one) => sessionStorage.setItem("mainpath.key", one), key);
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByText("Your key may look, but not decide.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Allow once" })).toHaveCount(0);
  await page.goto(`${place.ui}configure?part=keys`);
  await expect(page.getByRole("alert").first()).toContainText("Your key may not do that");
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);
});

test("two hundred runs are one list, of which what is seen is there", async ({ signedIn: page, place }) => {
  test.setTimeout(120_000);
  await place.run([{ final: "Hi." }], { task: "The oldest one." });
  const model = await place.model([{ final: "Hi." }]);
  for (let at = 0; at < 200; at += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => place.ask("POST", "/api/traces", { task: `Number ${at + n}.`, model })));
  }
  await page.goto(place.ui);
  await expect(page.locator("[data-trace]").first()).toBeVisible();
  const list = page.getByRole("region", { name: "Runs, newest first" }).or(page.getByRole("list", { name: "Runs, newest first" })).first();
  await expect
    .poll(async () => {
      await list.hover();
      await page.mouse.wheel(0, 4000);
      return page.locator("[data-trace]", { hasText: "The oldest one" }).count();
    }, { timeout: 40_000 })
    .toBe(1);
  expect(await page.locator("[data-trace]").count()).toBeLessThan(60);
});
