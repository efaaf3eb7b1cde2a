// Builds the package @conclave/sdk into sdk/dist: bundles, declarations, and the licences of what is bundled.
//   npm run sdk:build
import { buildSdk } from "./sdk/build.ts";
import { scriptCommand } from "./shared/arguments.ts";

const command = scriptCommand("sdk:build", "Builds the package @conclave/sdk into sdk/dist.").addHelpText(
  "after",
  `
Example:
  npm run sdk:build && npm pack --workspace sdk
`,
);
command.parse();
for (const { file, bytes, gzipBytes } of await buildSdk())
  process.stdout.write(`${file}: ${(bytes / 1000).toFixed(1)} kB, ${(gzipBytes / 1000).toFixed(1)} kB gzip\n`);
