// Does the tables and figures of the five papers again (docs/results.md).
import { installHooks } from "../agents/sim/hooks.ts";

// As scripts/eval.ts does.
installHooks({ realSignatures: false, mutant: null });
const { main } = await import("./lib/papers/command.ts");
const { exitCodeOf } = await import("./lib/arguments.ts");
const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
