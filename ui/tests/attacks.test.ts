import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { complaints, expect, test } from "./place";

const RLO = "\u202e";
const MARKDOWN = `
# A heading that is none of the page

<script>window.hit = "script"</script>
<img src="x" onerror="window.hit = 'onerror'">
<svg onload="window.hit = 'svg'"></svg>
<iframe srcdoc="<script>parent.hit = 'frame'</script>"></iframe>
<div style="position:fixed;inset:0" class="overlay">over the page</div>
<form action="http://127.0.0.1:9/"><button>Sign in</button></form>
<base href="http://127.0.0.1:9/">

![pixel](http://127.0.0.1:9/pixel.png) ![evil](javascript:window.hit='image')

[by script](javascript:window.hit='link') [by data](data:text/html,<script>opener.hit='data'</script>) [by vb](vbscript:x)
[looks like example.com](https://elsewhere.test/path) <https://auto.test/>
[x](https://break.test/"onmouseover="window.hit='attribute')

\`\`\`"><script>window.hit="fence"</script>
code
\`\`\`

\`\`\`html
<script>window.hit = "highlighted"</script>
\`\`\`

name.${RLO}gpj.exe \u001b[31mred\u001b[0m \u001b]0;title\u0007
`;

test("a page of attacks does nothing, loads nothing and deceives nobody", async ({ signedIn: page, place }) => {
  const wrong = complaints(page);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).origin));
  await writeFile(join(place.work, "evil.md"), `${MARKDOWN}\n${"x".repeat(2_000_000)}\n`);
  const trace = await place.run(
    [
      { thinking: MARKDOWN, text: MARKDOWN, calls: [{ tool: "read_text_file", args: { path: "evil.md" } }] },
      { calls: [{ tool: "bash", args: { command: `printf '\\033[31mred\\033[0m\\033]0;title\\007 <img src=x onerror=hit=1>'; head -c 1000000 /dev/zero | tr '\\0' y` } }] },
      { calls: [{ tool: MARKDOWN.slice(0, 60), args: MARKDOWN }] },
      { final: `${MARKDOWN}\n${"long ".repeat(40_000)}` },
    ],
    { task: `<img src=x onerror="window.hit='task'"> ${RLO}txt ${MARKDOWN}`, approvals: "yes", access: "workspace-write" },
  );
  for (const zoom of ["summary", "conversation?message=1", "conversation?message=2", "conversation", "events"]) {
    await page.goto(`${place.ui}runs/${trace}/${zoom}`);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expect(page.getByRole("navigation", { name: "Zoom" })).toBeVisible();
    if (zoom.startsWith("conversation")) {
      await expect(page.locator(".markdown").first()).toBeVisible();
      // Everything that is folded is opened.
      await page.evaluate(() => document.querySelectorAll<HTMLElement>('.fold > [aria-expanded="false"]').forEach((one) => one.click()));

    }
    const inside = await page.evaluate(() => ({
      hit: (globalThis as { hit?: unknown }).hit,
      elements: document.querySelectorAll(".markdown :is(script, img, iframe, svg, form, style, base, object, input, button)").length,
      attributes: [...document.querySelectorAll(".markdown *")].flatMap((one) => one.getAttributeNames()).filter((name) => /^on|^style$/.test(name)),
      links: [...document.querySelectorAll<HTMLAnchorElement>(".markdown a")].map((one) => one.protocol),
      classes: document.querySelectorAll(".markdown .overlay").length,
      override: document.body.innerText.includes("\u202e"),
      escape: document.body.innerText.includes("\u001b"),
      length: document.body.innerText.length,
    }));
    expect({ ...inside, links: [...new Set(inside.links)].filter((one) => one !== "https:" && one !== "http:"), length: inside.length < 300_000 }).toEqual({
      hit: undefined, elements: 0, attributes: [], links: [], classes: 0, override: false, escape: false, length: true,
    });
  }
  expect([...new Set(asked)]).toEqual([new URL(place.ui).origin]);

  await page.goto(`${place.ui}runs/${trace}/conversation?message=1`);
  await expect(page.getByText("⟨U+202E⟩").first()).toBeVisible();
  const link = page.locator(".markdown a", { hasText: "looks like example.com" }).first();
  await link.click();
  const dialog = page.getByRole("dialog", { name: "Open this link?" });
  await expect(dialog).toContainText("https://elsewhere.test/path");
  await page.keyboard.press("Escape");
  await expect(dialog).toBeHidden();
  expect(page.context().pages()).toHaveLength(1);
  expect([...new Set(asked)]).toEqual([new URL(place.ui).origin]);
  expect(wrong).toEqual([]);
});

test("no key is in an address, and none in what is asked for", async ({ signedIn: page, place }) => {
  const trace = await place.run([{ final: "Hi." }]);
  const addresses: string[] = [];
  page.on("request", (request) => addresses.push(request.url()));
  await page.goto(`${place.ui}runs/${trace}/conversation`);
  await expect(page.getByText("Hi.")).toBeVisible();
  expect(addresses.filter((address) => address.includes(place.key))).toEqual([]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
});
