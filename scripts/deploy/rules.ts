import {
  ContractFunctionExecutionError,
  HttpRequestError,
  createPublicClient,
  erc20Abi,
  http,
  type PublicClient,
} from "viem";
import { originOf } from "../../agents/adapters/chain/errors.ts";
import { isHex } from "../../agents/core/encoding/bytes.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";
import { LOCAL_CHAINS, examineBeacon } from "../../agents/adapters/chain/beacon.ts";
import type { PlanOptions } from "./settings.ts";
import type { Flags } from "./flags.ts";
import { readEpochBlocks } from "./epoch.ts";
import { amountOf, readPrices, usage } from "./price-options.ts";

export interface Network {
  readonly rpcUrl: string;
  /** Null accepts any. */
  readonly chainId: number | null;
}

const SECONDS_PER_HOUR = 3_600;
const SECONDS_PER_DAY = 86_400;
const DEFAULT_DECIMALS = 18;

/** A network of hardhat.config.ts. Its URL often holds an API key and is never shown. */
export async function networkOf(name: string): Promise<Network> {
  const { config, userConfig } = (await import("hardhat")).default;
  const { networks } = config;
  const network = networks[name];
  if (network?.type === "http") {
    const rpcUrl = await network.url.getUrl().catch((cause: unknown) => {
      const variable = variableIn(userConfig.networks?.[name]) ?? "a variable";
      const message = `Find the network ${name}: hardhat.config.ts takes its URL from ${variable}, which is not set or holds no URL`;
      throw new ConclaveError("CONFIG_MISSING", message, { network: name }, cause);
    });
    return { rpcUrl, chainId: network.chainId ?? null };
  }
  const known = Object.keys(networks).filter((other) => networks[other]?.type === "http");
  throw usage("--network", `${JSON.stringify(name)} is unknown; choose one of ${known.join(", ")}`);
}

/** The variable that holds the URL of a network; null if the URL is not taken from one. */
function variableIn(network: object | undefined): string | null {
  const url: unknown = network !== undefined && "url" in network ? network.url : null;
  return url !== null && typeof url === "object" && "name" in url && typeof url.name === "string" ? url.name : null;
}

/** Reads the rules of the deployment from the flags and checks them against the chain. */
export async function readRules(
  flags: Flags,
  { rpcUrl, chainId: expected }: Network,
): Promise<{ readonly chainId: number; readonly rules: Omit<PlanOptions, "account"> }> {
  const buildProfile = flags.profile;
  if (buildProfile !== "production" && buildProfile !== "default") throw usage("--profile", "is production or default");
  const days = numberOf(flags.unbondingDays);
  if (!(days >= 16 && days <= 365)) throw usage("--unbonding-days", "is a number from 16 to 365");
  const token = flags.token === undefined ? null : addressOf(flags.token, "--token");
  if ((token === null) !== (flags.testToken === true)) throw usage("--token", "or --test-token is needed, one of them");
  const admin = flags.admin === undefined ? {} : { admin: addressOf(flags.admin, "--admin") };
  const hours = numberOf(flags.governanceHours);
  if (!(hours >= 0 && hours <= 720)) throw usage("--governance-hours", "is a number from 0 to 720");
  // Rounded up: a delay above 0 never becomes 0.
  const governanceDelaySeconds = Math.ceil(hours * SECONDS_PER_HOUR);
  const treasury = flags.treasury === undefined ? {} : { treasury: addressOf(flags.treasury, "--treasury") };

  const client = createPublicClient({ transport: http(rpcUrl) });
  const chainId = await client.getChainId();
  if (expected !== null && expected !== chainId) {
    const message = `Connect to ${flags.network}: its node serves chain ${chainId}, not ${expected}; correct the variable of its URL`;
    throw new ConclaveError("CHAIN_WRONG_ID", message, { expected, found: chainId });
  }
  const flaw = await examineBeacon(client, chainId);
  if (flaw !== null) {
    const message = `Deploy to chain ${chainId}: it gives no randomness to draw committees with (${flaw}); choose another chain with --network (docs/deploying.md, Chains)`;
    throw new ConclaveError("CHAIN_NO_BEACON", message, { chainId });
  }
  const epochBlocks = await readEpochBlocks(flags.epochBlocks, client, chainId);
  const decimals = await decimalsOf(client, chainId, rpcUrl, token);
  if (token === null && !LOCAL_CHAINS.includes(chainId))
    throw usage("--test-token", `is for local chains, not for chain ${chainId}`);
  const minStake = amountOf(flags.minStake, decimals, "--min-stake");
  const maxStake = amountOf(flags.maxStake, decimals, "--max-stake");
  if (minStake === 0n || minStake > maxStake || maxStake > 16n * minStake || maxStake >= 1n << 96n)
    throw usage("--max-stake", "is from 1 to 16 times --min-stake, which is above 0, and below 2^96 units");
  const prices = readPrices(flags, decimals, chainId);
  const unbondingDelaySeconds = Math.round(days * SECONDS_PER_DAY);
  const amounts = { minStake, maxStake, prices };
  const delays = { governanceDelaySeconds, unbondingDelaySeconds };
  return { chainId, rules: { rpcUrl, token, ...admin, ...treasury, ...amounts, ...delays, epochBlocks, buildProfile } };
}

/** Returns the token's decimals. */
async function decimalsOf(
  client: PublicClient,
  chainId: number,
  rpcUrl: string,
  token: Address | null,
): Promise<number> {
  if (token === null) return DEFAULT_DECIMALS;
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
    return await client.readContract({ address: token, abi: erc20Abi, functionName: "decimals" });
  } catch (error) {
    if (
      error instanceof ContractFunctionExecutionError &&
      error.walk((cause) => cause instanceof HttpRequestError) === null
    )
      throw usage("--token", `names ${token}, which does not say its decimals: it is no ERC-20 token that can be used`);
    throw error;
  }
}

/** NaN for an empty text, which `Number` takes for 0: an unset variable must not remove a delay. */
function numberOf(text: string): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}

function addressOf(text: string, flag: string): Address {
  const lower = text.toLowerCase();
  if (!isHex(lower, 20)) throw usage(flag, "is 0x and 40 hexadecimal digits");
  if (BigInt(lower) === 0n) throw usage(flag, "is not the zero address, which is nobody's");
  return lower as Address;
}
