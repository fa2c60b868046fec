// A server of a test: its own home and workspace, a free port, scripted models, and the page before it.
import { test as base, expect, type Page } from "@playwright/test";
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { pageFile } from "./front";

const BINARY = process.env["MAINPATH_BIN"] ?? fileURLToPath(new URL("../../target/debug/mainpath", import.meta.url));

/** Bounds a wait, in milliseconds. Nothing here takes this long; what does, hangs. */
const LONG = 60_000;

export class Place {
  private process: ChildProcess | undefined;
  private address = "127.0.0.1:0";
  private scripts = 0;
  key = "";

  private constructor(readonly folder: string) {}

  static async make(): Promise<Place> {
    const place = new Place(await mkdtemp(join(tmpdir(), "mainpath-ui-")));
    await mkdir(place.work);
    await writeFile(join(place.work, "README.md"), "# Hello\nhello world\n");
    await place.start();
    return place;
  }

  get work(): string {
    return join(this.folder, "work");
  }

  get home(): string {
    return join(this.folder, "home");
  }

  private get environment(): NodeJS.ProcessEnv {
    return { PATH: process.env["PATH"], HOME: this.folder, MAINPATH_HOME: this.home };
  }

  /** The address of the page. */
  get ui(): string {
    return `${this.address}/ui/`;
  }

  async start(): Promise<void> {
    const deadline = Date.now() + LONG;
    for (;;) {
      try {
        return await this.startOnce();
      } catch (thrown) {
        // One that is started again listens where it did. Meanwhile something else may have got the port for a moment.
        if (!String(thrown).includes("in use") || Date.now() > deadline) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  }

  private async startOnce(): Promise<void> {
    const server = spawn(BINARY, ["serve", "--address", this.address.replace("http://", ""), "-C", this.work], {
      env: this.environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.process = server;
    let problem = "";
    server.stderr.on("data", (piece: Buffer) => (problem = (problem + piece.toString()).slice(-2000)));
    this.address = await new Promise<string>((resolve, reject) => {
      let text = "";
      server.stdout.on("data", (piece: Buffer) => {
        text += piece.toString();
        const found = /listening on (http:\/\/\S+)/.exec(text);
        if (found?.[1] !== undefined) resolve(found[1]);
      });
      server.on("error", reject);
      server.on("close", (code) => reject(new Error(`the server ended with ${code} before it listened: ${text}${problem}`)));
    });
    this.key = (await readFile(join(this.home, "server/token"), "utf8")).trim();
  }

  /** Starts the server again with a configuration, given as TOML. */
  async configure(text: string): Promise<void> {
    await this.kill();
    await writeFile(join(this.home, "config.toml"), text);
    await this.start();
  }

  /** Runs the command in this home, and gives what it prints. */
  async command(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(BINARY, args, { env: this.environment, cwd: this.work });
    return stdout;
  }

  /** Ends the server as a crash does. */
  async kill(): Promise<void> {
    const server = this.process;
    if (server === undefined || server.exitCode !== null) return;
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await ended;
  }

  async end(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The model that plays a script, given as its turns. */
  async model(turns: object[], name = "script"): Promise<string> {
    const file = join(this.folder, `${name}.json`);
    await writeFile(file, JSON.stringify({ turn: turns }));
    return `scripted:${file}`;
  }

  async ask(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${this.address}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.key}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }

  async get<T>(path: string): Promise<T> {
    return (await (await this.ask("GET", path)).json()) as T;
  }

  /** Starts an agent and gives its trace, at once or when its run has ended or waits for a person. */
  async run(turns: object[], more: object = {}, until: "begun" | "rest" = "rest"): Promise<string> {
    const body = { task: "Look around.", model: await this.model(turns, `script-${this.scripts++}`), ...more };
    const answer = await this.ask("POST", "/api/traces", body);
    const trace = ((await answer.json()) as { trace_id: string }).trace_id;
    if (until === "rest") await this.rest(trace);
    return trace;
  }

  /** Waits until nothing goes on in a trace. */
  async rest(trace: string): Promise<void> {
    const deadline = Date.now() + LONG;
    for (;;) {
      const { status } = await this.get<{ status: string }>(`/api/traces/${trace}`);
      if (status !== "running") return;
      if (Date.now() > deadline) throw new Error(`${trace} still runs`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Checks again and again, while the page's own time, which is stopped, advances by 10 ms after each check that fails. */
export async function inSmallSteps(page: Page, check: () => Promise<void>): Promise<void> {
  await expect(async () => {
    try {
      await check();
    } catch (thrown) {
      await page.clock.runFor(10);
      throw thrown;
    }
  }).toPass({ timeout: LONG, intervals: [20] });
}

/** Checks again and again, while so much of the page's own time passes that its next try is due, however often it failed before. */
export async function healed(page: Page, check: () => Promise<void>): Promise<void> {
  await expect(async () => {
    await page.clock.fastForward(40_000);
    await check();
  }).toPass({ timeout: LONG, intervals: [200] });
}

/** What the page has complained of: errors, and what the policy refused. */
export function complaints(page: Page): string[] {
  const said: string[] = [];
  page.on("pageerror", (error) => said.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) said.push(message.text());
  });
  return said;
}

/** With it the pages are those of crates/server/ui, not those that the server was built with. */
const FROM_DISK = process.env["MAINPATH_PAGES"] !== undefined;

export const test = base.extend<{ place: Place; signedIn: Page }>({
  page: async ({ page }, use) => {
    if (FROM_DISK) {
      await page.route(
        (address) => address.pathname.startsWith("/ui/"),
        async (route, request) => {
          if (request.method() !== "GET") return route.continue();
          return route.fulfill(await pageFile(new URL(request.url()).pathname));
        },
      );
    }
    await use(page);
  },
  // eslint-disable-next-line no-empty-pattern
  place: async ({}, use) => {
    const place = await Place.make();
    await use(place);
    await place.end();
  },
  /** A page that has the key, on no screen yet. */
  signedIn: async ({ page, place }, use) => {
    await page.addInitScript(
      ([key]) => {
        // A frame with a PDF has no storage.
        if (self !== top) return;
        if (sessionStorage.getItem("mainpath.test") === null) {
          sessionStorage.setItem("mainpath.test", "1");
          sessionStorage.setItem("mainpath.key", key ?? "");
        }
      },
      [place.key],
    );
    await use(page);
  },
});

export { expect };
