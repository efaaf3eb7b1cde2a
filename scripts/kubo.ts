// npm run kubo:build: the real Kubo from its Go module, for `npm run test:kubo`; prints its path. Needs Go.
import { messageOf } from "../agents/core/errors.ts";
import { buildKubo } from "./kubo/build.ts";

try {
  const binary = await buildKubo((line) => process.stderr.write(`${line}\n`));
  process.stdout.write(`${binary}\n`);
} catch (error) {
  process.stderr.write(`error: ${messageOf(error)}\n`);
  process.exitCode = 1;
}
