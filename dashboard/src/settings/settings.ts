import { isAddress } from "viem";
import type { ConclaveDeployment } from "../../../sdk/src/index.ts";

/** Where the dashboard finds everything: `config.json` beside the dashboard, or what the user typed. */
export interface Settings extends ConclaveDeployment {
  /** URL of the chain's JSON-RPC node. */
  readonly rpcUrl: string;
  readonly deploymentBlock: number;
  /** A subgraph for the history; null: the chain's events. */
  readonly subgraphUrl: string | null;
  /** Trustless gateways for transcripts, asked one after the other. */
  readonly gateways: readonly string[];
  /** Agents' live streams, asked one after the other; none: a committee is seen once it has decided. */
  readonly live: readonly string[];
  /** Key of a funded account of a local world; null elsewhere. */
  readonly burnerKey: `0x${string}` | null;
}

/** Settings that cannot be used; `field` says which. */
export class SettingsError extends Error {
  readonly field: string;
  readonly problem: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.field = field;
    this.problem = problem;
  }
}

/** Chains that only exist on one machine: their keys are worth nothing. */
const LOCAL_CHAINS: ReadonlySet<number> = new Set([1_337, 31_337]);
export const MOST_GATEWAYS = 8;
/** One for each agent of the largest committee. They are asked one after the other, and one of the committee tells what it heard of all seats. */
export const MOST_LIVE = 64;
const LONGEST_URL = 2_048;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const CHECKSUM = "a letter or digit is wrong, since its checksum is; copy it again, or give it in lower case";
const KEY = /^0x[0-9a-fA-F]{64}$/;

export function isLocalChain(chainId: number): boolean {
  return LOCAL_CHAINS.has(chainId);
}

/** Reads settings from JSON of a stranger. Throws SettingsError. */
export function parseSettings(value: unknown): Settings {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new SettingsError("settings", "give an object");
  const given = value as Readonly<Record<string, unknown>>;
  const subgraph = optional(given["subgraphUrl"]);
  // In the order of the form, whose first wrong field is named.
  const settings = {
    rpcUrl: url(given["rpcUrl"], "rpcUrl"),
    chainId: wholeNumber(given, "chainId", 1),
    oracle: address(given, "oracle"),
    registry: address(given, "registry"),
    deploymentBlock: given["deploymentBlock"] === undefined ? 0 : wholeNumber(given, "deploymentBlock", 0),
    gateways: urlsIn(given, "gateways", MOST_GATEWAYS),
    live: urlsIn(given, "live", MOST_LIVE),
    subgraphUrl: subgraph === null ? null : url(subgraph, "subgraphUrl"),
  };
  const burnerKey = optional(given["burnerKey"]);
  if (burnerKey !== null && !(typeof burnerKey === "string" && KEY.test(burnerKey)))
    throw new SettingsError("burnerKey", "give 0x and 64 hexadecimal digits, or leave it out");
  if (burnerKey !== null && !isLocalChain(settings.chainId))
    throw new SettingsError(
      "burnerKey",
      `only a local chain (31337, 1337) may have one, not chain ${settings.chainId}`,
    );
  return { ...settings, burnerKey: burnerKey as Settings["burnerKey"] };
}

function urlsIn(given: Readonly<Record<string, unknown>>, field: "gateways" | "live", most: number): readonly string[] {
  const list = given[field] ?? [];
  if (!Array.isArray(list) || list.length > most) throw new SettingsError(field, `give a list of at most ${most} URLs`);
  return list.map((one: unknown) => url(one, field));
}

function optional(value: unknown): unknown {
  return value === undefined || value === "" ? null : value;
}

function url(value: unknown, field: string): string {
  const read = typeof value === "string" && value.length <= LONGEST_URL ? URL.parse(value) : null;
  if (read !== null && ["http:", "https:"].includes(read.protocol)) return value as string;
  throw new SettingsError(field, "give a URL that begins with http:// or https://");
}

function address(given: Readonly<Record<string, unknown>>, field: "oracle" | "registry"): `0x${string}` {
  const value = given[field];
  if (typeof value !== "string" || !ADDRESS.test(value))
    throw new SettingsError(field, "give 0x and 40 hexadecimal digits");
  if (!isAddress(value)) throw new SettingsError(field, CHECKSUM);
  return value.toLowerCase() as `0x${string}`;
}

function wholeNumber(given: Readonly<Record<string, unknown>>, field: string, least: number): number {
  const value = given[field];
  const number = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number === "number" && Number.isSafeInteger(number) && number >= least) return number;
  throw new SettingsError(field, `give a whole number, ${least} or more`);
}
