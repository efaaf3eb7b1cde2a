import type { Conclave, ConclaveError } from "../../../sdk/src/index.ts";
import { exact } from "./format.ts";

type Units = Pick<Awaited<ReturnType<Conclave["terms"]>>, "stakeToken" | "feeToken">;
type Refused = Pick<ConclaveError, "message" | "data">;

interface Unit {
  readonly symbol: string;
  readonly decimals: number;
}

const COIN: Unit = { symbol: "ETH", decimals: 18 };
/** What the contracts and the SDK call amounts. */
const AMOUNTS = ["stake", "minimum", "maximum", "balance", "required", "credit", "allowance", "bond", "most"];
/** Errors whose amounts are stake. */
const OF_STAKE = new Set(["StakeBelowMinimum", "StakeAboveMaximum"]);
/** Fewer digits are read as they are, and could be another number's. */
const LONG = /^\d{7,}$/;

/** True if the message has amounts in the smallest unit, which people cannot read. */
export function hasAmounts({ data }: Refused): boolean {
  return AMOUNTS.some((name) => LONG.test(String(data[name])));
}

/** The message with its amounts in whole tokens or coins. */
export function withUnits({ message, data }: Refused, units: Units): string {
  const unit = unitOf(data, units);
  if (unit === null) return message;
  const long = AMOUNTS.map((name) => String(data[name])).filter((value) => LONG.test(value));
  return long.reduce((text, value) => {
    const shown = exact(BigInt(value), unit.decimals, unit.symbol);
    return text.replaceAll(new RegExp(`\\b${value}\\b`, "g"), shown);
  }, message);
}

function unitOf(data: Refused["data"], { stakeToken, feeToken }: Units): Unit | null {
  if (OF_STAKE.has(String(data["error"]))) return stakeToken;
  // The contracts number their currencies, the SDK names them.
  if (["0", "token"].includes(String(data["currency"]))) return feeToken;
  return ["1", "native"].includes(String(data["currency"])) ? COIN : null;
}
