import { expect, test, type Page } from "@playwright/test";
import { front } from "./front";
import { standIn, TRACE } from "./stand-in";

interface Figures {
  /** Milliseconds until it was painted, */
  wall: number;
  /** and what of them the page's thread worked. */
  cpu: number;
  nodes: number;
  megabytes: number;
}

async function figures(page: Page): Promise<Omit<Figures, "wall" | "cpu">> {
  return page.evaluate(() => {
    (globalThis as unknown as { gc(): void }).gc();
    const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
    return { nodes: document.querySelectorAll("*").length, megabytes: Math.round(memory.usedJSHeapSize / 1e5) / 10 };
  });
}

/** Opens a run from another screen, and says how long it took until something of it was painted. */
async function opened(page: Page, path: string, selector: string): Promise<Figures> {
  // The time of the page's own thread: how busy the machine is with other things is no property of the page.
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const busy = async () => (await session.send("Performance.getMetrics")).metrics.find((one) => one.name === "TaskDuration")?.value ?? NaN;
  const before = await busy();
  const wall = await page.evaluate(
    async ([path, selector]) => {
      const began = performance.now();
      history.pushState({}, "", path);
      dispatchEvent(new PopStateEvent("popstate", { state: {} }));
      while (document.querySelector(selector ?? "") === null) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return performance.now() - began;
    },
    [path, selector],
  );
  const cpu = 1000 * ((await busy()) - before);
  return { wall: Math.round(wall), cpu: Math.round(cpu), ...(await figures(page)) };
}

const ZOOMS = { summary: ".took dd", conversation: "article", events: "[data-event] .type" };

for (const [zoom, selector] of Object.entries(ZOOMS)) {
  test(`the page opens a run of 50,000 events and 1,000 agents at once: ${zoom}`, async ({ page }) => {
    const server = await standIn();
    const before = await front(server.address);
    try {
      await page.addInitScript(() => sessionStorage.setItem("mainpath.key", "any"));
      // As from the list of runs, which loads the code of this screen ahead.
      await page.goto(`${before.address}/ui/runs`);
      await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
      await page.waitForFunction(() => performance.getEntriesByType("resource").some((one) => one.name.includes("RunScreen")));
      await page.waitForLoadState("networkidle");
      const first = await opened(page, `/ui/runs/${TRACE}/${zoom}`, selector);
      console.log(zoom, "opened:", JSON.stringify(first));
      expect(first.nodes).toBeLessThan(3000);
      expect(first.megabytes).toBeLessThan(150);
      // How long it takes is a figure, and no test on a busy machine.
      if (process.env["MAINPATH_FIGURES"] !== undefined) expect(first.cpu).toBeLessThan(500);
      if (zoom === "summary") return;

      const region = page.getByRole("region", { name: zoom === "events" ? "All events" : "Conversation" });
      let most = 0;
      for (let round = 0; round < 100; round++) {
        const { top, nodes } = await region.evaluate(async (element) => {
          element.dispatchEvent(new WheelEvent("wheel"));
          element.scrollTop = Math.max(0, element.scrollTop - 3000);
          await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          return { top: element.scrollTop, nodes: document.querySelectorAll("*").length };
        });
        most = Math.max(most, nodes);
        if (top < 1 && zoom === "conversation") await expect.poll(() => region.evaluate((element) => element.scrollTop)).toBeGreaterThan(0);
      }
      await expect(page.locator(selector).first()).toBeVisible();
      const reached = await page.evaluate(() => Math.min(...[...document.querySelectorAll<HTMLElement>("[data-event]")].map((one) => Number(one.dataset["event"]))));
      expect(reached).toBeLessThan(server.head - 2000);
      const scrolled = await figures(page);
      console.log(zoom, "scrolled up to event", reached, JSON.stringify({ ...scrolled, mostNodes: most }));
      expect(most).toBeLessThan(3000);
      expect(scrolled.megabytes).toBeLessThan(150);
    } finally {
      await before.close();
      await server.close();
    }
  });
}

test("what a person reads stays where it is while the run grows, and whoever is at the end stays there", async ({ page }) => {
  const server = await standIn(2000);
  const before = await front(server.address);
  try {
    await page.addInitScript(() => sessionStorage.setItem("mainpath.key", "any"));
    await page.goto(`${before.address}/ui/runs/${TRACE}/conversation`);
    const region = page.getByRole("region", { name: "Conversation" });
    await expect(page.locator("article").first()).toBeVisible();
    const gap = () => region.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
    await expect.poll(gap).toBeLessThan(2);
    const last = () => page.locator("article").last().innerText();
    const was = await last();
    for (let n = 0; n < 45; n++) server.grow();
    await expect.poll(last).not.toBe(was);
    await expect.poll(gap).toBeLessThan(2);

    await region.evaluate((element) => {
      element.dispatchEvent(new WheelEvent("wheel"));
      element.scrollTop -= 2500;
    });
    await expect(page.getByRole("button", { name: "To the end" })).toBeVisible();
    // The first article that is wholly seen, and where.
    const top = () =>
      region.evaluate((element) => {
        const edge = element.getBoundingClientRect().top;
        const one = [...element.querySelectorAll<HTMLElement>("[data-event]")].find((item) => item.getBoundingClientRect().top >= edge);
        return one === undefined ? null : { event: one.dataset["event"], at: Math.round(one.getBoundingClientRect().top - edge) };
      });
    let settled = await top();
    await expect.poll(async () => {
      const now = await top();
      const same = JSON.stringify(now) === JSON.stringify(settled);
      settled = now;
      return same;
    }).toBe(true);
    for (let n = 0; n < 90; n++) {
      server.grow();
      if (n % 10 === 0) expect(await top()).toEqual(settled);
    }
    await expect(page.getByRole("button", { name: /new events/ })).toBeVisible();
    expect(await top()).toEqual(settled);
    await page.getByRole("button", { name: /new events/ }).click();
    await expect.poll(gap).toBeLessThan(2);
  } finally {
    await before.close();
    await server.close();
  }
});
