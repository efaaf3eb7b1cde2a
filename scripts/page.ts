// npm run page:build: builds the dashboard into dashboard/dist.
import { join } from "node:path";
import { build } from "vite";
import { endedBy, scriptCommand } from "./shared/arguments.ts";

const dashboard = join(import.meta.dirname, "../dashboard");

scriptCommand(
  "page:build",
  "Builds the dashboard into dashboard/dist: static files, for any web server or IPFS. Needs no network.",
)
  .addHelpText("after", "\nExample:\n  npm run page:build && npx conclave dev\n")
  .parse();

try {
  await build({ root: dashboard, configFile: join(dashboard, "vite.config.ts") });
} catch (error) {
  process.exitCode = endedBy(error);
}
