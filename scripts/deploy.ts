import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { Command, CommanderError } from "commander";
import {
  BaseError,
  ContractFunctionExecutionError,
  HttpRequestError,
  createPublicClient,
  erc20Abi,
  http,
  type LocalAccount,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { originOf, toChainError } from "../agents/adapters/chain/errors.ts";
import { openKeystore } from "../agents/adapters/keystore/keystore.ts";
import { readPassword } from "../agents/adapters/keystore/password.ts";
import { isHex } from "../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../agents/core/errors.ts";
import type { Address } from "../agents/core/types.ts";
import { keystoreAddress } from "../agents/cli/shared/keys.ts";
import { isUsage, wayOut } from "../agents/cli/shared/reasons.ts";
import { toJson } from "../agents/cli/shared/output.ts";
import type { Step } from "./deploy/plan.ts";
import { LOCAL_CHAINS, deploy, planDeployment, type Deployment, type PlanOptions } from "./deploy/deployment.ts";
import { addPriceOptions, amountOf, readPrices, usage, type PriceFlags } from "./deploy/price-options.ts";
import { writeVerification } from "./deploy/verification.ts";

interface Flags extends PriceFlags {
  readonly network: string;
  readonly token?: string;
  readonly testToken?: true;
  readonly admin?: string;
  readonly governanceHours: string;
  readonly treasury?: string;
  readonly minStake: string;
  readonly maxStake: string;
  readonly unbondingDays: string;
  readonly epochBlocks: string;
  readonly keystore?: string;
  readonly passwordFile?: string;
  readonly keyFile?: string;
  readonly profile: string;
  readonly out?: string;
  readonly dryRun?: true;
  readonly reset?: true;
  readonly json?: true;
}

interface Network {
  readonly rpcUrl: string;
  /** Null accepts any. */
  readonly chainId: number | null;
}

interface Result {
  readonly json: object;
  readonly text: string;
}

const KEY_VARIABLE = "CONCLAVE_DEPLOYER_KEY";
const PASSWORD_VARIABLE = "CONCLAVE_DEPLOYER_PASSWORD";
const SECONDS_PER_HOUR = 3_600;
const SECONDS_PER_DAY = 86_400;
const DEFAULT_DECIMALS = 18;
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

const program = addPriceOptions(new Command("deploy"))
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
    "how long what --admin decides waits on the chain before it counts, 0 to 720; pausing never waits",
    "48",
  )
  .option(
    "--treasury <address>",
    "gets what is slashed, less the reporter's reward; for ever (default: the administrator)",
  )
  .option("--min-stake <tokens>", "smallest own stake of an active agent's operator, in whole tokens", "100")
  .option(
    "--max-stake <tokens>",
    "largest stake of an agent, delegations included, at most 16 times the smallest",
    "1600",
  )
  .option("--unbonding-days <days>", "wait between unbonding and withdrawing, 14 to 365", "14")
  .option("--epoch-blocks <blocks>", "draws see the registry as it was when such an epoch began, 25 to 7200", "64")
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
  )
  .exitOverride();

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  try {
    program.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    throw error;
  }
  const flags = program.opts<Flags>();
  try {
    const { json, text } = await run(flags);
    console.log(flags.json === true ? toJson(json) : text);
    return 0;
  } catch (error) {
    // Anything else is a bug or a broken build, and its stack helps.
    if (!(error instanceof ConclaveError)) throw error;
    const { code, message } = error;
    if (flags.json === true) console.log(JSON.stringify({ error: { code, message } }));
    else console.error(`${code}: ${message}\nway out: ${wayOut[code]}`);
    return isUsage(code) ? EXIT_USAGE : EXIT_FAILED;
  }
}

async function run(flags: Flags): Promise<Result> {
  const network = await networkOf(flags.network);
  try {
    return await runOn(network, flags);
  } catch (error) {
    throw error instanceof BaseError ? toChainError(error, "Deploy the contracts", network.rpcUrl) : error;
  }
}

async function runOn(network: Network, flags: Flags): Promise<Result> {
  const { chainId, rules } = await readRules(flags, network);
  const file = resolve(flags.out ?? join(dirname(import.meta.dirname), "deployments", `${chainId}.json`));
  const folder = file.replace(/\.json$/, "");
  if (folder === file) throw usage("--out", "names a file that ends in .json");
  await reserve(file, folder);
  const directory = join(folder, "ignition");
  const unfinished = flags.reset === true ? {} : { directory };
  if (flags.dryRun === true) {
    const { steps, deployment } = await planDeployment({ ...rules, ...unfinished, account: await addressFrom(flags) });
    return { json: { steps, deployment }, text: [...steps.map(lineOf), describe(deployment)].join("\n") };
  }
  const account = await readAccount(flags);
  if (flags.reset === true) await rm(directory, { recursive: true, force: true });
  const options = { ...rules, account, directory, progress: (line: string) => console.error(line) };
  const plan = await planDeployment(options);
  options.progress(`compiling the contracts (${rules.buildProfile} build); the first time takes minutes`);
  const deployment = await deploy(options);
  await writeVerification(join(folder, "verification"), plan, rules.buildProfile);
  await writeFile(file, `${JSON.stringify(deployment, null, 2)}\n`, { flag: "wx" });
  return { json: deployment, text: `${describe(deployment)}\nWritten to ${file}; verification inputs beside it` };
}

/** Of hardhat.config.ts; the URL often holds an API key, and is not shown. */
async function networkOf(name: string): Promise<Network> {
  const { networks } = (await import("hardhat")).config;
  const network = networks[name];
  if (network?.type === "http") {
    const rpcUrl = await network.url.getUrl().catch((cause: unknown) => {
      const message = `Find the network ${name}: hardhat.config.ts takes its URL from a variable that is not set, or is no URL`;
      throw new ConclaveError("CONFIG_MISSING", message, { network: name }, cause);
    });
    return { rpcUrl, chainId: network.chainId ?? null };
  }
  const known = Object.keys(networks).filter((other) => networks[other]?.type === "http");
  throw usage("--network", `is one of ${known.join(", ")}`);
}

async function readRules(
  flags: Flags,
  { rpcUrl, chainId: expected }: Network,
): Promise<{ readonly chainId: number; readonly rules: Omit<PlanOptions, "account"> }> {
  const buildProfile = flags.profile;
  if (buildProfile !== "production" && buildProfile !== "default") throw usage("--profile", "is production or default");
  const days = numberOf(flags.unbondingDays);
  if (!(days >= 14 && days <= 365)) throw usage("--unbonding-days", "is a number from 14 to 365");
  const epochBlocks = numberOf(flags.epochBlocks);
  if (!Number.isInteger(epochBlocks) || epochBlocks < 25 || epochBlocks > 7_200)
    throw usage("--epoch-blocks", "is a whole number from 25 to 7200");
  const token = flags.token === undefined ? null : addressOf(flags.token, "--token");
  if ((token === null) !== (flags.testToken === true)) throw usage("--token", "or --test-token is needed, one of them");
  const admin = flags.admin === undefined ? {} : { admin: addressOf(flags.admin, "--admin") };
  const hours = numberOf(flags.governanceHours);
  if (!(hours >= 0 && hours <= 720)) throw usage("--governance-hours", "is a number from 0 to 720");
  // Never shorter than it says: a delay above 0 does not become none.
  const governanceDelaySeconds = Math.ceil(hours * SECONDS_PER_HOUR);
  const treasury = flags.treasury === undefined ? {} : { treasury: addressOf(flags.treasury, "--treasury") };

  const { chainId, decimals } = await inspect(rpcUrl, token);
  if (expected !== null && expected !== chainId) {
    const message = `Connect to ${flags.network}: its node serves chain ${chainId}, not ${expected}; correct the variable of its URL`;
    throw new ConclaveError("CHAIN_WRONG_ID", message, { expected, found: chainId });
  }
  if (token === null && !LOCAL_CHAINS.includes(chainId))
    throw usage("--test-token", `is for local chains, not for chain ${chainId}`);
  const minStake = amountOf(flags.minStake, decimals, "--min-stake");
  const maxStake = amountOf(flags.maxStake, decimals, "--max-stake");
  if (minStake === 0n || minStake > maxStake || maxStake > 16n * minStake || maxStake >= 1n << 96n)
    throw usage("--max-stake", "is from 1 to 16 times --min-stake, which is above 0, and below 2^96 units");
  const prices = readPrices(flags, decimals);
  const unbondingDelaySeconds = Math.round(days * SECONDS_PER_DAY);
  const amounts = { minStake, maxStake, prices };
  const delays = { governanceDelaySeconds, unbondingDelaySeconds };
  return { chainId, rules: { rpcUrl, token, ...admin, ...treasury, ...amounts, ...delays, epochBlocks, buildProfile } };
}

/** The addresses of an earlier deployment are worth more than a convenience. */
async function reserve(file: string, folder: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const existing = await readFile(file).catch(() => null);
  if (existing !== null)
    throw usage("--out", `names ${file}, which exists; move it and the folder ${folder} away or choose another name`);
}

async function inspect(
  rpcUrl: string,
  token: Address | null,
): Promise<{ readonly chainId: number; readonly decimals: number }> {
  const client = createPublicClient({ transport: http(rpcUrl) });
  const chainId = await client.getChainId();
  if (token === null) return { chainId, decimals: DEFAULT_DECIMALS };
  const code = await client.getCode({ address: token });
  if (code === undefined || code === "0x") {
    throw new ConclaveError(
      "CHAIN_NO_CONTRACT",
      `Find the token: chain ${chainId} at ${originOf(rpcUrl)} has no contract at ${token}`,
      {
        contract: "token",
        address: token,
      },
    );
  }
  try {
    const decimals = await client.readContract({ address: token, abi: erc20Abi, functionName: "decimals" });
    return { chainId, decimals };
  } catch (error) {
    if (
      error instanceof ContractFunctionExecutionError &&
      error.walk((cause) => cause instanceof HttpRequestError) === null
    )
      throw usage("--token", `names ${token}, which does not say its decimals: it is no ERC-20 token that can be used`);
    throw error;
  }
}

async function readAccount(flags: Flags): Promise<LocalAccount> {
  if (flags.keystore !== undefined) {
    const prompt = `Password of ${flags.keystore}`;
    const password = await readPassword({ file: flags.passwordFile, env: PASSWORD_VARIABLE, prompt });
    return (await openKeystore(flags.keystore, password)).viemAccount();
  }
  const variables = flags.keyFile === undefined ? process.env : parseEnv(await readKeyFile(flags.keyFile));
  const key = variables[KEY_VARIABLE]?.toLowerCase();
  if (key === undefined)
    throw usage("--keystore", `or --key-file, or the environment variable ${KEY_VARIABLE}, is needed`);
  if (!isHex(key, 32)) throw usage(KEY_VARIABLE, "is 0x and 64 hexadecimal digits (not shown here)");
  try {
    return privateKeyToAccount(key);
  } catch {
    // Its error quotes the key.
    throw usage(
      KEY_VARIABLE,
      "is no private key of secp256k1: it is 0 or above the order of the curve (not shown here)",
    );
  }
}

/** NaN for an empty text, which `Number` takes for 0: an unset variable must not remove a delay. */
function numberOf(text: string): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}

/** Whose nonce the addresses follow from; a keystore states it without its password. */
async function addressFrom(flags: Flags): Promise<{ readonly address: Address }> {
  if (flags.keystore !== undefined) return { address: await keystoreAddress(flags.keystore) };
  return readAccount(flags) as Promise<LocalAccount & { readonly address: Address }>;
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    throw usage("--key-file", `names ${path}, which cannot be read`);
  }
}

function addressOf(text: string, flag: string): Address {
  const lower = text.toLowerCase();
  if (!isHex(lower, 20)) throw usage(flag, "is 0x and 40 hexadecimal digits");
  if (BigInt(lower) === 0n) throw usage(flag, "is not the zero address, which is nobody's");
  return lower as Address;
}

function lineOf({ action, contract, address, functionName = "", args }: Step): string {
  const shown = args.map((argument) => toJson(argument)).join(", ");
  return action === "create"
    ? `create ${contract} at ${address}\n  (${shown})`
    : `call ${contract} at ${address}\n  ${functionName}(${shown})`;
}

function describe(deployment: Deployment): string {
  const lines = Object.entries(deployment).map(([name, value]) => `  ${name.padEnd(16)}${value}`);
  return `Chain ${deployment.chainId}:\n${lines.join("\n")}`;
}
