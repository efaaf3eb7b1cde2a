import type { ChainTerms } from "../adapters/chain/terms.ts";
import type { Address, AgentId, Currency, Hex } from "../core/types.ts";
import type { OperatorActions } from "../ports/chain.ts";
import { formatAmount, unitOf, type Unit } from "./arguments.ts";
import type { Row } from "./output.ts";

export interface Withdrawal {
  readonly currency: Currency;
  readonly amount: bigint;
  readonly transactionHash: Hex;
}

const CURRENCIES: readonly Currency[] = ["token", "native"];

/** Pays out all that the account has earned with an agent, in one transaction per currency; none where it has earned nothing. */
export async function claimAll(
  actions: OperatorActions,
  terms: ChainTerms,
  agentId: AgentId,
  to: Address,
  signal: AbortSignal,
): Promise<readonly Withdrawal[]> {
  const rewards = await terms.rewards(agentId, actions.account, signal);
  const claims: Withdrawal[] = [];
  for (const currency of CURRENCIES) {
    const amount = rewards[currency];
    if (amount === 0n) continue;
    const { transactionHash } = await actions.claimRewards(agentId, currency, to);
    claims.push({ currency, amount, transactionHash });
  }
  return claims;
}

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

/** "none" when both are 0. */
export function amountsText(amounts: Readonly<Record<Currency, bigint>>, feeToken: Unit): string {
  const held = CURRENCIES.filter((currency) => amounts[currency] !== 0n);
  if (held.length === 0) return "none";
  return held.map((currency) => formatAmount(amounts[currency], unitOf(currency, feeToken))).join(", ");
}
