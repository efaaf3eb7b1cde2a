import type { ChainTerms } from "../adapters/chain/terms.ts";
import type { Address, Currency, Hex } from "../core/types.ts";
import type { OperatorActions } from "../ports/chain.ts";
import { formatAmount, unitOf, type Unit } from "./arguments.ts";
import type { Row } from "./output.ts";

export interface Withdrawal {
  readonly currency: Currency;
  readonly amount: bigint;
  readonly transactionHash: Hex;
}

const CURRENCIES: readonly Currency[] = ["token", "native"];

/** Pays out all that the oracle owes the account, in one transaction per currency; none where it owes nothing. */
export async function withdrawAll(
  actions: OperatorActions,
  terms: ChainTerms,
  to: Address,
  signal: AbortSignal,
): Promise<readonly Withdrawal[]> {
  const { credit } = await terms.holdings(actions.account, signal);
  const withdrawals: Withdrawal[] = [];
  for (const currency of CURRENCIES) {
    const amount = credit[currency];
    if (amount === 0n) continue;
    const { transactionHash } = await actions.withdraw(currency, amount, to);
    withdrawals.push({ currency, amount, transactionHash });
  }
  return withdrawals;
}

export function withdrawalRows(withdrawals: readonly Withdrawal[], feeToken: Unit, to: Address): readonly Row[] {
  if (withdrawals.length === 0) return [["withdrawn", "nothing: the credit is 0"]];
  return withdrawals.flatMap(({ currency, amount, transactionHash }) => [
    ["withdrawn", `${formatAmount(amount, unitOf(currency, feeToken))} to ${to}`] as const,
    ["transaction", transactionHash] as const,
  ]);
}

/** What the oracle owes an account. */
export function creditText(credit: Readonly<Record<Currency, bigint>>, feeToken: Unit): string {
  const owed = CURRENCIES.filter((currency) => credit[currency] !== 0n);
  if (owed.length === 0) return "none in the oracle";
  return `${owed.map((currency) => formatAmount(credit[currency], unitOf(currency, feeToken))).join(", ")} in the oracle`;
}
