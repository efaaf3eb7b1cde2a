// The attacks that break the reference, and texts that try to be more than data.
import { installHooks } from "../../sim/hooks.ts";

// Before anything of the core is loaded: signatures and hashes of a simulated world cost next to nothing.
installHooks({ realSignatures: false, mutant: null });
const { main } = await import("./command.ts");
const { exitCodeOf } = await import("../../scripts/shared/arguments.ts");
const words = process.argv.slice(2);
process.exitCode = await exitCodeOf(words, () => main(words));
