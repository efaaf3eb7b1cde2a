import { formatUnits, isAddress, parseUnits } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, Currency, Ppm, RequestId } from "../../core/types.ts";

export interface Unit {
  readonly symbol: string;
  readonly decimals: number;
}

const COIN: Unit = { symbol: "coins", decimals: 18 };

/** A percentage as a part of a million. */
const PERCENT: Unit = { symbol: "percent", decimals: 4 };
/** MAX_COMMISSION_PPM in contracts/types/Limits.sol. */
const MAX_COMMISSION = 500_000n;

const DECIMAL = /^(\d{1,60})(?:\.(\d{1,60}))?$/;
const ISO_TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/;
const DURATION = /^(?=\d)(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/;
const DAY = 86_400;
/** Seconds of a day, an hour, a minute and a second, as `DURATION` names them. */
const UNITS = [DAY, 3_600, 60, 1] as const;

/** Requires an amount above 0, before it is known of what. Throws USAGE. */
export function requireAmount(text: string, option: string): void {
  if (!DECIMAL.test(text) || Number(text) === 0) throw usage(option, text, "give an amount above 0 such as 12.5");
}

/** Reads an amount such as "12.5" tokens, in the smallest units. Throws USAGE. */
export function parseAmount(text: string, unit: Unit, option: string): bigint {
  const fraction = DECIMAL.exec(text)?.[2] ?? "";
  if (!DECIMAL.test(text)) throw usage(option, text, `give an amount of ${unit.symbol} such as 12.5`);
  if (fraction.length > unit.decimals) throw usage(option, text, `${unit.symbol} has ${unit.decimals} decimals`);
  return parseUnits(text, unit.decimals);
}

/** Reads a percentage such as "12.5", in parts per million. Throws USAGE. */
export function parseCommission(text: string, option: string): Ppm {
  const ppm = parseAmount(text, PERCENT, option);
  if (ppm > MAX_COMMISSION) throw usage(option, text, "give at most 50, without a percent sign");
  return Number(ppm) as Ppm;
}

export function formatAmount(amount: bigint, unit: Unit): string {
  return `${formatUnits(amount, unit.decimals)} ${unit.symbol}`;
}

export function unitOf(currency: Currency, feeToken: Unit): Unit {
  return currency === "token" ? feeToken : COIN;
}

/** Reads a duration such as "90s", "10m", "33h36m" or "1d", in seconds. Throws USAGE. */
export function parseDuration(text: string, option: string): number {
  const [, ...counts] = DURATION.exec(text) ?? [];
  const seconds = UNITS.reduce((sum, size, place) => sum + Number(counts[place] ?? 0) * size, 0);
  if (seconds === 0) throw usage(option, text, "give a duration such as 90s, 10m, 2h, 33h36m or 1d");
  return seconds;
}

/** Formats whole seconds as `parseDuration` reads them, e.g. "1d9h36m". */
export function formatDuration(seconds: number): string {
  const parts = [
    `${Math.floor(seconds / DAY)}d`,
    `${Math.floor((seconds % DAY) / 3_600)}h`,
    `${Math.floor((seconds % 3_600) / 60)}m`,
    `${seconds % 60}s`,
  ];
  return parts.filter((part) => !part.startsWith("0")).join("") || "0s";
}

/** Reads a time in UTC, or a duration before now, in Unix seconds. Throws USAGE. */
export function parseTime(text: string, option: string, now: number): number {
  if (DURATION.test(text)) return Math.max(0, now - parseDuration(text, option));
  const parsed = ISO_TIME.test(text) ? Date.parse(text.length === 10 ? `${text}T00:00:00Z` : text) : Number.NaN;
  if (!Number.isSafeInteger(parsed) || parsed < 0)
    throw usage(
      option,
      text,
      "give a time of UTC such as 2026-11-22 or 2026-11-22T08:30:00Z, or how long ago: 90m, 2h, 7d",
    );
  return Math.floor(parsed / 1000);
}

/** Throws USAGE. */
export function parseInteger(text: string, option: string, least: number, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw usage(option, text, `give a whole number from ${least} to ${most}`);
  return value;
}

/** Throws USAGE. */
export function parseRequestId(text: string | undefined): RequestId {
  const id = /^[1-9]\d{0,38}$/.test(text ?? "") ? BigInt(text ?? "") : 0n;
  if (id === 0n || id >= 1n << 128n)
    throw usage("<id>", text ?? "", "give the number of a request, 1 or more and below 2^128");
  return id as RequestId;
}

/** Throws USAGE. */
export function parseSubscriptionId(text: string | undefined, option: string): number {
  const id = /^[1-9]\d{0,14}$/.test(text ?? "") ? Number(text) : Number.NaN;
  if (!(id < 2 ** 48)) throw usage(option, text ?? "", "give the number of a subscription, 1 or more");
  return id;
}

/** Throws USAGE. */
export function parseAddress(text: string, option: string): Address {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw usage(option, text, "give a 20-byte address in hex, beginning with 0x");
  if (!isAddress(text)) throw usage(option, text, "its checksum is wrong: copy it again, or give it in lower case");
  return text.toLowerCase() as Address;
}

export interface ListenPlace {
  readonly host: string;
  readonly port: number;
}

/** Reads a place to listen on such as "127.0.0.1:8080" or "[::1]:8080". Throws USAGE. */
export function parseListen(text: string, option: string): ListenPlace {
  const [, v6, v4 = "", port = ""] = /^(?:\[([0-9a-f:.]+)\]|([^\s:/]+)):(\d{1,5})$/i.exec(text) ?? [];
  if (Number(port) > 65_535 || port === "") throw usage(option, text, "give HOST:PORT such as 127.0.0.1:8080");
  return { host: v6 ?? v4, port: Number(port) };
}

/** Reads a sha256, in lower case. Throws USAGE. */
export function parseDigest(text: string, option: string): string {
  if (!/^[0-9a-fA-F]{64}$/.test(text)) throw usage(option, text, "give a sha256: 64 hex digits");
  return text.toLowerCase();
}

/** Reads one of the choices. Throws USAGE. */
export function parseChoice<Choice extends string>(text: string, option: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) throw usage(option, text, `choose one of ${choices.join(", ")}`);
  return found;
}

/** Reads an http or https URL. The error does not show it, since it may hold a key. Throws USAGE. */
export function parseUrl(text: string, option: string, what: string, example: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text;
  const message = `Read ${option}: its value (not shown) is invalid; give the http or https URL of ${what}, e.g. ${example}`;
  throw new ConclaveError("USAGE", message, { option });
}

/** Throws USAGE. */
export function parseKuboUrl(text: string, option: string): string {
  return parseUrl(text, option, "a Kubo RPC", "http://127.0.0.1:5001");
}

/** Reads a folder's name; an empty one would be the working folder. Throws USAGE. */
export function parseFolder(text: string, option: string): string {
  if (text === "") throw usage(option, text, "give the path of a folder, . for this one");
  return text;
}

export function usage(option: string, value: string, way: string): ConclaveError {
  const shown = value.length > 80 ? `${value.slice(0, 80)}...` : value;
  return new ConclaveError("USAGE", `Read ${option}: ${JSON.stringify(shown)} is invalid; ${way}`, {
    option,
    value: shown,
  });
}
