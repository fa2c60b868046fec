/// <reference types="vitest/config" />
import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// The server to which `npm run dev` passes requests on.
const server = process.env["MAINPATH_SERVER"] ?? "http://127.0.0.1:8000";
const passed = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  base: "/ui/",
  plugins: [vue()],
  define: {
    __VUE_OPTIONS_API__: false,
    __VUE_I18N_LEGACY_API__: false,
    __VUE_I18N_FULL_INSTALL__: false,
    __INTLIFY_PROD_DEVTOOLS__: false,
  },
  build: {
    outDir: "../crates/server/ui",
    emptyOutDir: true,
    target: "es2023",
    // The policy allows no `data:` fonts or styles, and an inlined file could not be cached.
    assetsInlineLimit: 0,
    // One file: a part of it that could not be loaded once would not be asked for again.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": passed, "/v1": passed, "/ui/login": passed, "/openapi.json": passed } },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
