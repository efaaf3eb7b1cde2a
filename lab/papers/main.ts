// Does the tables and figures of the five papers again (lab/results.md).
import { installHooks } from "../../sim/hooks.ts";

// As lab/eval/main.ts does.
installHooks({ realSignatures: false, mutant: null });
const { main } = await import("./command.ts");
const { exitCodeOf } = await import("../../scripts/shared/arguments.ts");
const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
