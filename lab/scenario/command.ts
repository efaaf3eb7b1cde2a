import Table from "cli-table3";
import type { Command } from "commander";
import { formatEther } from "ethers";

import { toJson } from "../../agents/cli/shared/output.ts";
import { createRandom } from "../../sim/random.ts";
import { between, toolCommand } from "../../scripts/shared/arguments.ts";
import { startProductionChain } from "../shared/production-chain.ts";
import { audit, type Audit } from "./audit.ts";
import { LEAST_OPERATORS, accountsFor, openEconomy } from "./economy.ts";
import { playScenario, type Played } from "./scenario.ts";

interface Flags {
  readonly operators: number;
  readonly requests: number;
  readonly seed: number;
  readonly json?: true;
}

function commandLine(): Command {
  return toolCommand("scenario")
    .description(
      "Plays an economy on a local chain: operators with delegators, requests of every kind in both currencies, hung, silent, unsure and delayed committees, questions without an answer, appeals, an equivocator, liars that stake stands behind, an operator that leaves, new prices by governance. Exit code 1 if a single unit is not accounted for.",
    )
    .option("--operators <count>", `${LEAST_OPERATORS} to 200`, between(LEAST_OPERATORS, 200), 40)
    .option("--requests <count>", "4 to 10,000", between(4, 10_000), 500)
    .option("--seed <number>", "the same seed gives the same run", between(0, 999_999_999), 1)
    .option("--json", "print one JSON object instead of tables")
    .addHelpText("after", "\nExample:\n  npm run scenario -- --requests 50 --seed 7\n");
}

/** Plays the economy, audits it and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const flags = commandLine().parse(argv, { from: "user" }).opts<Flags>();
  const random = createRandom(flags.seed, "scenario");
  const progress = (line: string): void => console.error(line);
  progress("compiling the contracts (production build); the first time takes a minute");
  const ethers = await startProductionChain(accountsFor(flags.operators));
  const economy = await openEconomy(ethers, flags.operators, random.fork("economy"));
  progress(`${economy.agents.length} agents of ${flags.operators} operators, ${economy.delegators.length} delegators`);
  const played = await playScenario(economy, flags.requests, random.fork("life"), progress);
  const result = await audit(economy);
  console.log(flags.json === true ? toJson({ life: played, ...result }) : describe(played, result));
  return result.faults.length === 0 ? 0 : 1;
}

function describe(played: Played, { holders, minted, flows, faults }: Audit): string {
  const counted = tableOf("what happened", "how often");
  counted.push(...Object.entries({ ...played.fates, ...played.kinds, ...played.events }));
  const owners = tableOf("tokens of", "given", "in the end", "difference");
  for (const { name, given, tokens } of holders)
    owners.push([name, formatEther(given), formatEther(tokens), formatEther(tokens - given)]);
  owners.push(["all, as minted", formatEther(minted), formatEther(minted), formatEther(0n)]);
  const moved = tableOf("through the oracle", "tokens", "coins");
  for (const { name, tokens, coins } of flows) moved.push([name, formatEther(tokens), formatEther(coins)]);
  const verdict =
    faults.length === 0
      ? "Every token and every coin is accounted for, to the last unit."
      : `NOT accounted for:\n${faults.join("\n")}`;
  return [counted, owners, moved].map(String).join("\n") + `\n${verdict}`;
}

function tableOf(first: string, ...others: readonly string[]): Table.Table {
  const colAligns: ("left" | "right")[] = ["left", ...others.map(() => "right" as const)];
  return new Table({ head: [first, ...others], colAligns, style: { head: [], border: [] } });
}
