// The pictures of docs/ui, made anew by `npm run pictures`. It also holds that no screen is wider than its window.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Locator } from "@playwright/test";
import { expect, test } from "./place";

const FOLDER = process.env["MAINPATH_PICTURES"] === undefined ? null : fileURLToPath(new URL("../../docs/ui/", import.meta.url));

const PROGRAM = 'fn main() {\n    println!("hello");\n}\n';
const TURNS = [
  {
    thinking: "First a look at the files.",
    text: "I look around and write the program:\n\n```rust\nfn main() {\n    println!(\"hello\");\n}\n```",
    calls: [{ tool: "read_text_file", args: { path: "README.md" } }, { tool: "write_text_file", args: { path: "main.rs", content: PROGRAM } }],
    usage: { input: 3200, output: 240, cache_read: 2100 },
  },
  { text: "I plan.", calls: [{ tool: "goal", args: { op: "set", steps: [{ id: "a", title: "Write the program", status: "completed" }, { id: "b", title: "Greet by name" }, { id: "c", title: "Test it" }] } }] },
  { text: "I change it.", calls: [{ tool: "edit_text_file", args: { path: "main.rs", edits: [{ old_text: '    println!("hello");\n', new_text: '    let name = std::env::args().nth(1);\n    println!("hello {name:?}");\n' }] } }] },
  { calls: [{ tool: "bash", args: { command: "grep -n test main.rs" } }] },
  { calls: [{ tool: "write_text_file", args: { path: "/etc/motd", content: "hello" } }] },
  { text: "One thing is open.", calls: [{ tool: "ask_human", args: { question: "Which **greeting** do you want?", choices: [{ label: "Hello" }, { label: "Good day" }] } }] },
  { final: "Done." },
];

test("no screen is wider than its window, dark or light, wide or on a phone", async ({ signedIn: page, place }) => {
  test.setTimeout(300_000);
  const trace = await place.run(TURNS, { task: "Make the program greet people by name.", approvals: "yes", access: "workspace-write" });
  const other = await place.run([TURNS[0] ?? {}, { final: "Written." }], { task: "Make the program greet people by name.", approvals: "yes", access: "workspace-write" });
  await place.run([{ final: "It is a small program." }], { task: "Explain this folder." });
  const asks = await place.run([{ text: "The build folder is old.", calls: [{ tool: "bash", args: { command: "rm -rf build && make" } }] }], { task: "Clean the build folder." });
  await place.run([{ error: { kind: "auth", message: "the key was refused", times: 3 }, final: "x" }], { task: "Update the changelog." });
  if (FOLDER !== null) await mkdir(FOLDER, { recursive: true });
  // Each with what is there once it is whole.
  const screens: [name: string, path: string, whole: Locator][] = [
    ["runs", "runs", page.locator("main .badge").first()],
    ["summary", `runs/${trace}`, page.getByRole("img", { name: /Timeline/ })],
    ["conversation", `runs/${trace}/conversation`, page.getByRole("button", { name: "Good day" })],
    ["events", `runs/${trace}/events`, page.locator("[data-event] .type").first()],
    ["request", `runs/${trace}/conversation?request=2`, page.getByRole("dialog").getByText("Nothing was left out.")],
    ["inbox", `inbox?trace=${asks}&call=2.0`, page.getByText("You have seen the whole call.")],
    ["compare", `compare?a=${trace}&b=${other}`, page.getByRole("table").first()],
    ["configure", "configure", page.getByText("Find a tool")],
  ];
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [form, width, height] of [["wide", 1280, 800], ["phone", 360, 740]] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      for (const [name, path, whole] of screens) {
        await page.goto(`${place.ui}${path}`);
        await expect(whole, `${name} ${form}`).toBeVisible();
        await expect(page.locator("html")).toHaveAttribute("data-theme", colorScheme);
        await page.waitForLoadState("load");
        expect(await page.evaluate(() => document.documentElement.scrollWidth), `${name} ${form}`).toBeLessThanOrEqual(width);
        if (FOLDER !== null) await page.screenshot({ path: `${FOLDER}${name}-${colorScheme}-${form}.png` });
      }
    }
  }
});
