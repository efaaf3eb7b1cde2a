import { KEY_VARIABLE, PASSWORD_VARIABLE } from "./account.ts";
import { addPriceOptions, type PriceFlags } from "./price-options.ts";
import { toolCommand } from "../shared/arguments.ts";
import type { StrictCommand } from "../../agents/cli/shared/strict-command.ts";

export interface Flags extends PriceFlags {
  readonly network: string;
  readonly token?: string;
  readonly testToken?: true;
  readonly admin?: string;
  readonly governanceHours: string;
  readonly treasury?: string;
  readonly minStake: string;
  readonly maxStake: string;
  readonly unbondingDays: string;
  readonly epochBlocks?: string;
  readonly keystore?: string;
  readonly passwordFile?: string;
  readonly keyFile?: string;
  readonly profile: string;
  readonly out?: string;
  readonly dryRun?: true;
  readonly reset?: true;
  readonly json?: true;
}

export function commandLine(): StrictCommand {
  return addPriceOptions(toolCommand("deploy"))
    .description(
      "Deploys access manager, registry, oracle and slasher, and writes the addresses to deployments/<chain id>.json.",
    )
    .requiredOption(
      "--network <name>",
      "a network of hardhat.config.ts; its RPC URL comes from a variable, never from here",
    )
    .option("--token <address>", "ERC-20 token of stakes and fees")
    .option("--test-token", "deploy a token that anybody can mint instead; local chains only")
    .option(
      "--admin <address>",
      "becomes the only administrator of roles and prices, e.g. a multisig (default: the deployer, without delay)",
    )
    .option(
      "--governance-hours <hours>",
      "delay on the chain before a decision of --admin takes effect, 0 to 720; pausing never waits",
      "48",
    )
    .option(
      "--treasury <address>",
      "gets what is slashed, minus the reporter's reward; cannot be changed (default: the administrator)",
    )
    .option("--min-stake <tokens>", "smallest own stake of an active agent's operator, in whole tokens", "100")
    .option(
      "--max-stake <tokens>",
      "largest stake of an agent, delegations included, at most 16 times the smallest",
      "1600",
    )
    .option("--unbonding-days <days>", "wait between unbonding and withdrawing, 16 to 365", "16")
    .option(
      "--epoch-blocks <blocks>",
      "draws see the registry as it was when the current epoch of this many blocks began, 25 to 7200, and at least the shortest request long (default: 7200; on a local chain 64)",
    )
    .option(
      "--keystore <file>",
      `encrypted key of the deployer; password by --password-file, ${PASSWORD_VARIABLE} or prompt`,
    )
    .option("--password-file <file>", "password of the keystore")
    .option("--key-file <file>", `file with a line ${KEY_VARIABLE}=0x...; else that environment variable`)
    .option("--profile <name>", "build profile of the contracts: production or default", "production")
    .option("--out <file>", "where the addresses go; an existing file is kept and refused")
    .option(
      "--dry-run",
      "show every contract and call with its arguments and addresses; sends nothing, needs no password",
    )
    .option("--reset", "forget an unfinished deployment; its contracts stay on the chain, unused")
    .option("--json", "print one JSON object instead of text")
    .addHelpText("after", "\nThe key is never taken from the command line, where other users see it.")
    .addHelpText(
      "after",
      "\nExample:\n  SEPOLIA_RPC_URL=https://... npm run deploy -- --network sepolia --token 0x5fbd...0aa3 --keystore deployer.json --dry-run\n",
    );
}
