// What it takes to open a run, as the page itself can tell.
import { expect, type Page } from "@playwright/test";

/** What is looked for at each zoom. */
export const ZOOMS = { summary: ".took dd", conversation: "article", events: "[data-event] .type" };

export interface Figures {
  /** Milliseconds until it was painted, */
  wall: number;
  /** and what of them the page's thread worked. */
  cpu: number;
  nodes: number;
  megabytes: number;
}

export async function figures(page: Page): Promise<Omit<Figures, "wall" | "cpu">> {
  return page.evaluate(() => {
    (globalThis as unknown as { gc(): void }).gc();
    const { memory } = performance as unknown as { memory: { usedJSHeapSize: number } };
    return { nodes: document.querySelectorAll("*").length, megabytes: Math.round(memory.usedJSHeapSize / 1e5) / 10 };
  });
}

/** Opens a run from another screen, and says how long it took until something of it was painted. */
export async function opened(page: Page, path: string, selector: string): Promise<Figures> {
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

/** Shows the list of runs, which loads the code of a run's screen ahead. */
export async function fromRuns(page: Page, ui: string, key: string): Promise<void> {
  await page.addInitScript((secret) => sessionStorage.setItem("mainpath.key", secret), key);
  await page.goto(`${ui}runs`);
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await page.waitForFunction(() => performance.getEntriesByType("resource").some((one) => one.name.includes("RunScreen")));
  await page.waitForLoadState("networkidle");
}
