// The pictures of docs/ui, made anew by `npm run pictures`. It also holds that no screen is wider than its window.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
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
  test.setTimeout(180_000);
  const trace = await place.run(TURNS, { task: "Make the program greet people by name.", approvals: "yes", access: "workspace-write" });
  await place.run([{ final: "It is a small program." }], { task: "Explain this folder." });
  await place.run([{ calls: [{ tool: "bash", args: { command: "rm -rf build" } }] }], { task: "Clean the build folder." });
  await place.run([{ error: { kind: "auth", message: "the key was refused", times: 3 }, final: "x" }], { task: "Update the changelog." });
  if (FOLDER !== null) await mkdir(FOLDER, { recursive: true });
  const screens = { runs: "runs", summary: `runs/${trace}`, conversation: `runs/${trace}/conversation`, events: `runs/${trace}/events` };
  for (const colorScheme of ["light", "dark"] as const) {
    for (const [form, width, height] of [["wide", 1280, 800], ["phone", 360, 740]] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height });
      for (const [name, path] of Object.entries(screens)) {
        await page.goto(`${place.ui}${path}`);
        await expect(page.locator("main .badge").first()).toBeVisible();
        if (name === "events") await expect(page.locator("[data-event] .type").first()).toBeVisible();
        if (name === "summary") await expect(page.getByRole("img", { name: /Timeline/ })).toBeVisible();
        await expect(page.locator("html")).toHaveAttribute("data-theme", colorScheme);
        await page.waitForLoadState("load");
        if (name === "conversation") await expect(page.getByRole("button", { name: "Good day" })).toBeVisible();
        expect(await page.evaluate(() => document.documentElement.scrollWidth), `${name} ${form}`).toBeLessThanOrEqual(width);
        if (FOLDER !== null) await page.screenshot({ path: `${FOLDER}${name}-${colorScheme}-${form}.png` });
      }
    }
  }
});
