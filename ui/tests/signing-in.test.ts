import AxeBuilder from "@axe-core/playwright";
import { complaints, expect, test } from "./place";

test("a key opens the page that was asked for, and is in this tab alone", async ({ page, place }) => {
  const said = complaints(page);
  await page.goto(`${place.ui}inbox`);
  await expect(page.getByRole("heading", { name: "Sign in to Mainpath" })).toBeVisible();
  expect((await new AxeBuilder({ page }).analyze()).violations).toEqual([]);

  await page.getByLabel("Key", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toHaveText("The server refused this key.");

  await page.getByLabel("Key", { exact: true }).fill(place.key);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${place.ui}inbox`);
  expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain(place.key);
  await page.reload();
  await expect(page.getByRole("heading", { name: "Inbox" })).toBeVisible();
  expect(said).toEqual([]);
});

test("a key that the server refuses leads to the sign-in page and back", async ({ page, place }) => {
  await page.goto(place.ui);
  await page.getByLabel("Key", { exact: true }).fill(place.key);
  await page.getByLabel("Keep me signed in").check();
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("link", { name: "Runs" })).toHaveAttribute("aria-current", "page");
  await page.evaluate(() => localStorage.setItem("mainpath.key", "revoked"));
  await page.reload();
  await expect(page.getByRole("heading", { name: "Sign in to Mainpath" })).toBeVisible();
});

test("the code of an address leaves it at once, and a bad one is said", async ({ page, place }) => {
  await page.goto(`${place.ui}#code=abc`);
  await expect(page.getByRole("alert")).toContainText("no longer valid");
  expect(page.url()).not.toContain("abc");
});

test("the address that mainpath ui prints signs in, once", async ({ page, place }) => {
  const said = complaints(page);
  const address = /http:\S+/.exec(await place.command("ui", "--no-browser"))?.[0] ?? "";
  expect(address).toMatch(/\/ui\/#code=\S{16,}$/);
  await page.goto(address);
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await expect(page.getByText("No runs yet.")).toBeVisible();
  expect(page.url()).not.toContain("code");
  expect(page.url()).not.toContain(place.key);
  await page.reload();
  await expect(page.getByText("No runs yet.")).toBeVisible();
  expect(said).toEqual([]);

  // Another tab that comes by the same address is no friend of it.
  const second = await page.context().newPage();
  await second.goto(address);
  await expect(second.getByRole("alert")).toContainText("no longer valid");
});

test("theme and language are kept", async ({ signedIn: page, place }) => {
  await page.goto(place.ui);
  await page.getByRole("button", { name: "Settings of this page" }).click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await page.getByRole("button", { name: "Settings of this page" }).click();
  await page.getByRole("menuitemradio", { name: "中文" }).click();
  await expect(page.getByRole("link", { name: "收件箱" })).toBeVisible();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
});
