import { type ChainTerms, type Subscription } from "../../adapters/chain/terms.ts";
import { ConclaveError } from "../../core/errors.ts";
import { CURRENCIES, type Currency } from "../../core/types.ts";
import { parseChoice, parseSubscriptionId } from "../shared/arguments.ts";
import type { OptionSpec } from "../shared/command.ts";

export const currencyFlag: OptionSpec = {
  flags: "--currency <currency>",
  description: "token or native, the chain's coin",
  default: "token",
};

export function parseCurrency(text: string): Currency {
  return parseChoice(text, "--currency", CURRENCIES);
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
