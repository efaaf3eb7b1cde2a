// npm run kubo:build: the real Kubo from its Go module, for `npm run test:kubo`; prints its path. Needs Go.
import { messageOf } from "../agents/core/errors.ts";
import { buildKubo } from "./kubo/build.ts";
import { scriptCommand } from "./shared/arguments.ts";

scriptCommand(
  "kubo:build",
  "Builds the real Kubo from its Go module, for `npm run test:kubo`, and prints its path. Needs Go.",
)
  .addHelpText("after", "\nExample:\n  npm run kubo:build\n")
  .parse();

try {
  const binary = await buildKubo((line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${binary}\n`);
} catch (error) {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
