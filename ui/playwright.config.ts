import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  testMatch: "*.test.ts",
  outputDir: "test-results",
  // Each test has a server of its own; the machine has two cores.
  workers: 1,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  use: {
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
    },
    locale: "en-GB",
    timezoneId: "UTC",
    viewport: { width: 1280, height: 800 },
    trace: "off",
  },
});
