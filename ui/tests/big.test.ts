import { expect, test } from "@playwright/test";
import { front } from "./front";
import { figures, fromRuns, opened, ZOOMS } from "./opened";
import { standIn, TRACE } from "./stand-in";

for (const [zoom, selector] of Object.entries(ZOOMS)) {
  test(`the page opens a run of 50,000 events and 1,000 agents at once: ${zoom}`, async ({ page }) => {
    const server = await standIn();
    const before = await front(server.address);
    try {
      await fromRuns(page, `${before.address}/ui/`, "any");
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
    // It has settled once nothing has moved for many frames.
    let settled = await top();
    await expect(async () => {
      const now = await top();
      const moved = await region.evaluate(async (element) => {
        const seen = (): string => [...element.querySelectorAll<HTMLElement>("[data-event]")].map((item) => `${item.dataset["event"]} ${item.getBoundingClientRect().top}`).join();
        const before = seen();
        for (let frame = 0; frame < 20; frame++) {
          await new Promise((resolve) => requestAnimationFrame(resolve));
          if (seen() !== before) return true;
        }
        return false;
      });
      expect(moved).toBe(false);
      settled = await top();
      expect(settled).toEqual(now);
    }).toPass();
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
