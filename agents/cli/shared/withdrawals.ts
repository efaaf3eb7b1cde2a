import type { ChainTerms } from "../../adapters/chain/terms.ts";
import { CURRENCIES, type Address, type AgentId, type Currency, type Hex } from "../../core/types.ts";
import type { OperatorActions, Receipt } from "../../ports/chain.ts";
import { formatAmount, unitOf, type Unit } from "./arguments.ts";
import type { Row } from "./output.ts";

export interface Withdrawal {
  readonly currency: Currency;
  readonly amount: bigint;
  readonly transactionHash: Hex;
}

/** Pays out all that the account has earned with an agent. */
export async function claimAll(
  actions: OperatorActions,
  terms: ChainTerms,
  agentId: AgentId,
  to: Address,
  signal: AbortSignal,
): Promise<readonly Withdrawal[]> {
  const rewards = await terms.rewards(agentId, actions.account, signal);
  return payEach(rewards, (currency) => actions.claimRewards(agentId, currency, to));
}

/** Pays out all that the oracle owes the account. */
export async function withdrawAll(
  actions: OperatorActions,
  terms: ChainTerms,
  to: Address,
  signal: AbortSignal,
): Promise<readonly Withdrawal[]> {
  const { credit } = await terms.holdings(actions.account, signal);
  return payEach(credit, (currency, amount) => actions.withdraw(currency, amount, to));
}

/** Pays each currency in its own transaction, if the amount is not 0. */
async function payEach(
  amounts: Readonly<Record<Currency, bigint>>,
  pay: (currency: Currency, amount: bigint) => Promise<Receipt>,
): Promise<readonly Withdrawal[]> {
  const paid: Withdrawal[] = [];
  for (const currency of CURRENCIES) {
    const amount = amounts[currency];
    if (amount === 0n) continue;
    const { transactionHash } = await pay(currency, amount);
    paid.push({ currency, amount, transactionHash });
  }
  return paid;
}

export function withdrawalRows(withdrawals: readonly Withdrawal[], feeToken: Unit, to: Address): readonly Row[] {
  return withdrawals.length === 0
    ? [["withdrawn", "nothing: the credit is 0"]]
    : payoutRows("withdrawn", withdrawals, feeToken, to);
}

export function claimRows(claims: readonly Withdrawal[], feeToken: Unit, to: Address): readonly Row[] {
  return claims.length === 0
    ? [["rewards", "none: nothing was earned since the last claim"]]
    : payoutRows("rewards", claims, feeToken, to);
}

function payoutRows(name: string, payouts: readonly Withdrawal[], feeToken: Unit, to: Address): readonly Row[] {
  return payouts.flatMap(({ currency, amount, transactionHash }) => [
    [name, `${formatAmount(amount, unitOf(currency, feeToken))} to ${to}`] as const,
    ["transaction", transactionHash] as const,
  ]);
}

/** Shows the amounts in both currencies; "none" if both are 0. */
export function amountsText(amounts: Readonly<Record<Currency, bigint>>, feeToken: Unit): string {
  const held = CURRENCIES.filter((currency) => amounts[currency] !== 0n);
  if (held.length === 0) return "none";
  return held.map((currency) => formatAmount(amounts[currency], unitOf(currency, feeToken))).join(", ");
}

/** Shows what the oracle owes, and the command that pays it out. */
export function creditText(credit: Readonly<Record<Currency, bigint>>, feeToken: Unit, command: string): string {
  const owed = `${amountsText(credit, feeToken)} in the oracle`;
  return CURRENCIES.every((currency) => credit[currency] === 0n) ? owed : `${owed}: run ${command}`;
}
