// The commands of the product, and the one that starts a local world, which the product itself does not know.
import { commands as product } from "../agents/cli/commands.ts";
import { runProcess } from "../agents/cli/run-process.ts";
import { dev } from "./dev/entry.ts";

await runProcess([dev, ...product]);
