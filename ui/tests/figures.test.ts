// The figures of docs/figures.md: what a browser takes to show Runs and a run, from the real server on loopback. `npm run figures` prints them.
import type { Page } from "@playwright/test";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { figures, fromRuns, opened, ZOOMS } from "./opened";
import { test, type Place } from "./place";

const ROUNDS = 5;

interface Figures {
  firstPaint: number;
  largestPaint: number;
  blocked: number;
  bytes: number;
}

interface Timed {
  paint: number;
  largest: number;
  blocked: number;
}

/** What the page notes of itself: paints, and by how much tasks after the first paint were longer than 50 ms. */
function note(): void {
  const timed: Timed = { paint: 0, largest: 0, blocked: 0 };
  Object.assign(globalThis, { timed });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (entry.name === "first-contentful-paint") timed.paint = entry.startTime;
  }).observe({ type: "paint", buffered: true });
  new PerformanceObserver((list) => {
    timed.largest = list.getEntries().at(-1)?.startTime ?? timed.largest;
  }).observe({ type: "largest-contentful-paint", buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) timed.blocked += Math.max(0, entry.duration - 50);
  }).observe({ type: "longtask", buffered: true });
}

/** Opens an address as a browser that was never there, and measures until what is looked for is seen and two quiet seconds have passed. */
async function measure(page: Page, place: Place, address: string, whole: string): Promise<Figures> {
  const context = await page.context().browser()?.newContext({ viewport: { width: 1280, height: 800 } });
  if (context === undefined) throw new Error("there is no browser");
  await context.addInitScript(note);
  await context.addInitScript((key) => sessionStorage.setItem("mainpath.key", key), place.key);
  const fresh = await context.newPage();
  const network = await context.newCDPSession(fresh);
  await network.send("Network.enable");
  let bytes = 0;
  network.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  await fresh.goto(address);
  await fresh.locator(whole).first().waitFor();
  await fresh.waitForTimeout(2000);
  const timed = await fresh.evaluate(() => (globalThis as unknown as { timed: Timed }).timed);
  await context.close();
  return { firstPaint: timed.paint, largestPaint: timed.largest, blocked: timed.blocked, bytes };
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

test("what the first screen takes", async ({ page, place }) => {
  test.skip(process.env["MAINPATH_FIGURES"] === undefined, "it prints figures and asserts nothing");
  test.setTimeout(300_000);
  const model = await place.model([{ final: "Hi." }]);
  for (let at = 0; at < 100; at += 20) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => place.ask("POST", "/api/traces", { task: `Number ${at + n}.`, model })));
  }
  const turns = Array.from({ length: 40 }, (_, at) => ({ text: `Look ${at}.`, calls: [{ tool: "bash", args: { command: `echo ${at}` } }] }));
  const trace = await place.run([...turns, { final: "Done." }], { approvals: "yes", access: "workspace-write" });
  const screens = { Runs: [`${place.ui}runs`, "[data-trace]"], Run: [`${place.ui}runs/${trace}/conversation`, "article"] } as const;
  for (const [name, [address, whole]] of Object.entries(screens)) {
    const found: Figures[] = [];
    for (let round = 0; round < ROUNDS; round++) found.push(await measure(page, place, address, whole));
    const of = (field: keyof Figures): number => Math.round(median(found.map((one) => one[field])));
    console.log(`${name}: first contentful paint ${of("firstPaint")} ms, largest ${of("largestPaint")} ms, blocked ${of("blocked")} ms, ${(of("bytes") / 1024).toFixed(0)} KiB`);
  }
});

const BENCH = fileURLToPath(new URL("../../target/release/mainpath-bench", import.meta.url));

test("what a run of 50,000 events and 1,000 agents takes", async ({ page, place }) => {
  test.skip(process.env["MAINPATH_FIGURES"] === undefined, "it prints figures and asserts nothing");
  test.skip(!existsSync(BENCH), "cargo build --release -p mainpath-bench");
  test.setTimeout(300_000);
  const trace = "20260101-large";
  await promisify(execFile)(BENCH, ["life", place.home, trace, "50000", "1000"]);
  await fromRuns(page, place.ui, place.key);
  for (const [zoom, selector] of Object.entries(ZOOMS)) {
    for (const look of ["first", "again"]) {
      console.log(`${zoom}, ${look}: ${JSON.stringify(await opened(page, `/ui/runs/${trace}/${zoom}`, selector))}`);
      await page.waitForLoadState("networkidle");
      console.log(`${zoom}, all there: ${JSON.stringify(await figures(page))}`);
      await page.goBack();
      await page.locator("[data-trace]").first().waitFor();
    }
  }
});
