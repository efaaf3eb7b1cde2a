// npm run spec: plays random runs of the model of certify and checks its invariants.
import { between, scriptCommand } from "./shared/arguments.ts";
import { MODEL, STEPS, quint, violationIn } from "./spec/quint.ts";

const { seed, runs, json } = scriptCommand(
  "spec",
  "Checks the types of docs/spec/certify.qnt, plays random runs of it, and checks its invariants after each step. Takes about a second a run.",
)
  .option("--seed <number>", "which runs are played", between(1, 0xffff_ffff), 1)
  .option("--runs <number>", "how many", between(1, 100_000), 50)
  .option("--json", "print one JSON object")
  .addHelpText(
    "after",
    `
Example:
  npm run spec -- --seed 3 --runs 200

Exit codes: 0 the invariants held, 1 one broke (the run is shown), 2 usage.
`,
  )
  .parse()
  .opts<{ readonly seed: number; readonly runs: number; readonly json?: true }>();

const types = await quint("typecheck", MODEL);
const violation = types.code === 0 ? await violationIn(MODEL, { seed, runs, steps: STEPS }) : types.output;
if (json === true) process.stdout.write(`${JSON.stringify({ seed, runs, violation })}\n`);
else process.stdout.write(violation ?? `${runs} runs with seed ${seed}: the invariants held after each step\n`);
process.exitCode = violation === null ? 0 : 1;
