import { type ChainTerms, type Subscription } from "../../adapters/chain/terms.ts";
import { ConclaveError } from "../../core/errors.ts";
import { CURRENCIES, type Currency } from "../../core/types.ts";
import { UNBOUNDED } from "../../ports/chain.ts";
import { formatAmount, parseChoice, parseSubscriptionId, type Unit } from "../shared/arguments.ts";
import type { OptionSpec } from "../shared/command.ts";

export const currencyFlag: OptionSpec = {
  flags: "--currency <currency>",
  description: "token or native, the chain's coin",
  default: "token",
};

export function parseCurrency(text: string): Currency {
  return parseChoice(text, "--currency", CURRENCIES);
}

/** Says how much a consumer may spend. */
export function allowanceText(allowance: bigint, unit: Unit): string {
  return allowance === UNBOUNDED ? `any amount of ${unit.symbol}` : formatAmount(allowance, unit);
}

/** Finds the subscription that a command names. Throws USAGE or SUBSCRIPTION_UNKNOWN. */
export async function findSubscription(
  text: string | undefined,
  terms: ChainTerms,
  signal: AbortSignal,
): Promise<Subscription & { readonly subscriptionId: number }> {
  const subscriptionId = parseSubscriptionId(text, "<id>");
  const found = await terms.subscription(subscriptionId, signal);
  if (found !== null) return { ...found, subscriptionId };
  throw new ConclaveError(
    "SUBSCRIPTION_UNKNOWN",
    `Find subscription ${subscriptionId}: the oracle has none of that number; check it, or create one`,
    { subscriptionId },
  );
}
