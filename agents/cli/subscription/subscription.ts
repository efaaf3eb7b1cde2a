import { createOperatorActions } from "../../adapters/chain/operator.ts";
import type { ReaderOptions } from "../../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms, type Subscription } from "../../adapters/chain/terms.ts";
import type { Keys } from "../../adapters/keystore/keys.ts";
import { ConclaveError } from "../../core/errors.ts";
import { CURRENCIES, type Currency } from "../../core/types.ts";
import type { OperatorActions, Receipt } from "../../ports/chain.ts";
import { openAccount, type AccountFlags } from "../shared/account.ts";
import { parseChoice, parseSubscriptionId } from "../shared/arguments.ts";
import { findChain } from "../shared/chain-source.ts";
import type { CliHost, OptionSpec } from "../shared/command.ts";
import type { Row } from "../shared/output.ts";

/** An account of one's own at the oracle. */
export interface OwnAccount {
  readonly source: ReaderOptions;
  readonly terms: ChainTerms;
  readonly keys: Keys;
  readonly actions: OperatorActions;
}

export const currencyFlag: OptionSpec = {
  flags: "--currency <currency>",
  description: "token or native, the chain's coin",
  default: "token",
};

export function parseCurrency(text: string): Currency {
  return parseChoice(text, "--currency", CURRENCIES);
}

export async function openOwnAccount(flags: AccountFlags, host: CliHost): Promise<OwnAccount> {
  const source = await findChain(flags, host);
  const terms = await readChainTerms(source, host.signal);
  const keys = await openAccount(flags, host);
  const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
  return { source, terms, keys, actions };
}

/** The number that a command names, and what it stands for. Throws USAGE or SUBSCRIPTION_UNKNOWN. */
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

export function transactionRow({ transactionHash, gasUsed }: Receipt): Row {
  return ["transaction", `${transactionHash} (${gasUsed} gas)`];
}
