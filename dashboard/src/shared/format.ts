import { formatUnits } from "viem";
import { PROTOCOL_CODES } from "../../../sdk/src/index.ts";
import type { DecisionStatus } from "./types.ts";

/** Plain words and aligned numbers for people. */

/** Why a decision has no answer. */
const NO_ANSWER: Readonly<Record<Exclude<DecisionStatus, "decided">, string>> = {
  hung: "No consensus",
  unanswerable: "The sources do not tell",
  tooEarly: "Too early to tell",
};

const STATUS: Readonly<Record<string, string>> = {
  requested: "In progress",
  decided: "Decided",
  hung: "No consensus",
  unanswerable: "Unanswerable",
  tooEarly: "Too early",
  refunded: "Refunded",
};

export function statusText(status: string): string {
  return STATUS[status] ?? status;
}

export function answerText({ status, answer }: { readonly status: DecisionStatus; readonly answer: string }): string {
  return status === "decided" ? answer : NO_ANSWER[status];
}

/** Parts per million as whole percent. */
export function percent(ppm: number): string {
  return `${Math.round(ppm / 10_000)} %`;
}

/** An amount for reading, cut to four decimals, with a sign where more is cut off. */
export function amount(value: bigint, decimals: number, symbol: string): string {
  const [whole = "0", fraction = ""] = formatUnits(value, decimals).split(".");
  const digits = fraction.slice(0, 4).replace(/0+$/, "");
  const sign = fraction.length > 4 ? "≈ " : "";
  const shown = digits === "" ? grouped(whole) : `${grouped(whole)}.${digits}`;
  // What is there must not look like nothing.
  return `${shown === "0" && value > 0n ? "< 0.0001" : `${sign}${shown}`} ${symbol}`;
}

/** A price, rounded up to four digits that count: whoever sends what is shown has sent enough. */
export function price(value: bigint, decimals: number, symbol: string): string {
  const unit = 10n ** BigInt(Math.max(0, String(value).length - 4));
  const rounded = ((value + unit - 1n) / unit) * unit;
  return exact(rounded, decimals, symbol);
}

/** An amount with all its digits: sums can be checked. */
export function exact(value: bigint, decimals: number, symbol: string): string {
  return `${grouped(formatUnits(value, decimals))} ${symbol}`;
}

/** Digits before the point in groups of three. */
function grouped(digits: string): string {
  return digits.replace(/^\d+/, (whole) => whole.replaceAll(/\B(?=(\d{3})+$)/g, " "));
}

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** @param unixSeconds a time */
export function time(unixSeconds: number): string {
  return DAY.format(unixSeconds * 1_000);
}

/** The chain's events have addresses in lower case, wallets with a checksum: both look alike. */
export function shortHex(hex: string): string {
  return `${hex.slice(0, 6)}…${hex.slice(-4)}`.toLowerCase();
}

export function shortId(requestId: bigint): string {
  const subscription = (requestId >> 48n) & ((1n << 48n) - 1n);
  const number = requestId & ((1n << 48n) - 1n);
  return subscription === 0n ? `#${number}` : `#${subscription}.${number}`;
}

/** @param code of the chain, which may know more protocols than this page */
export function protocolName(code: number): string {
  return Object.entries(PROTOCOL_CODES).find(([, one]) => one === code)?.[0] ?? `protocol ${code}`;
}

/** A duration in each unit of which it has some. */
export function seconds(duration: number): string {
  const parts = [
    plural(Math.floor(duration / 86_400), "day"),
    plural(Math.floor(duration / 3_600) % 24, "hour"),
    plural(Math.floor(duration / 60) % 60, "minute"),
    plural(duration % 60, "second"),
  ];
  return parts.filter((part) => !part.startsWith("0 ")).join(" ") || "0 seconds";
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Names a list: "seat 1, seat 2 and seat 3". */
export function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} and ${last}`;
}
