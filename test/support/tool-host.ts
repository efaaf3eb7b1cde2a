// Runs the script of its first argument for each message, with the words of the message; tool.ts starts it.
import { pathToFileURL } from "node:url";

const [node = "", , script = ""] = process.argv;
let runs = 0;

process.on("message", (words: readonly string[]) => void run(words));

async function run(words: readonly string[]): Promise<void> {
  let [out, err] = ["", ""];
  process.stdout.write = (text) => ((out += String(text)), true);
  process.stderr.write = (text) => ((err += String(text)), true);
  process.argv = [node, script, ...words];
  runs += 1;
  // Another address, so that the script runs again; what it imports does not.
  await import(`${pathToFileURL(script).href}?run=${runs}`);
  process.send?.({ code: process.exitCode ?? 0, out, err });
}
