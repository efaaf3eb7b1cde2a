// Adds the CUDA and Vulkan builds of node-llama-cpp, about 600 MB, to an installed checkout: npm run gpu
// The main install replaces them by an empty package ("overrides" in package.json). vendor/llama-gpu pins them by integrity.
// Run it again after every npm ci; what was downloaded is kept.
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { scriptCommand } from "./shared/arguments.ts";

scriptCommand(
  "gpu",
  "Adds the CUDA and Vulkan builds of node-llama-cpp, about 600 MB, to an installed checkout on linux-x64.",
)
  .addHelpText("after", "\nExample:\n  npm run gpu\n")
  .parse();

const root = join(import.meta.dirname, "..");
const source = join(root, "vendor/llama-gpu");
const installed = join(source, "node_modules/@node-llama-cpp");
const target = join(root, "node_modules/@node-llama-cpp");

if (process.platform !== "linux" || process.arch !== "x64") {
  throw new Error(`Install GPU builds on linux-x64 only, this is ${process.platform}-${process.arch}`);
}
execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: source, stdio: "inherit" });
for (const name of readdirSync(installed)) {
  rmSync(join(target, name), { recursive: true, force: true });
  symlinkSync(join(installed, name), join(target, name), "dir");
  process.stdout.write(`${name} linked\n`);
}
