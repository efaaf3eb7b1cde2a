import { defineConfig } from "vite";

const SHARED =
  /dashboard\/src\/(?:shared|history|wallet)\/|dashboard\/src\/settings\/stored|adapters\/http\.ts|sdk\/src\/(?:history|connection|errors)\.ts|adapters\/chain\/(?:recent|logs|backoff|connection|errors)\.ts/;

/** Builds static files with relative paths: they work below any folder of a server, and on IPFS. */
export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  // Libraries look for them, and then compute in another way.
  define: { "globalThis.process": "undefined", "globalThis.Buffer": "undefined" },
  build: {
    target: "es2024",
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // What the first view shares with other pages is one file: as thirty small ones it was 5 % larger, compressed.
      output: { codeSplitting: { groups: [{ name: "shared", test: SHARED }] } },
      // Directives for servers that render React; this page has none.
      onLog: (level, log, report) => log.code === "MODULE_LEVEL_DIRECTIVE" || report(level, log),
    },
  },
  worker: { format: "es" },
});
