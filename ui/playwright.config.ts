import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "tests",
  testMatch: "*.test.ts",
  outputDir: "test-results",
  // Each test has a server, a home and a browser page of its own.
  fullyParallel: true,
  workers: 2,
  // They only bound a test that hangs: a busy machine is slow, not wrong.
  timeout: 180_000,
  expect: { timeout: 30_000 },
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
