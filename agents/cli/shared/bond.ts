import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { AgentRecord, OperatorActions } from "../../ports/chain.ts";
import type { ChainTerms } from "../../adapters/chain/terms.ts";
import { formatAmount, parseAmount } from "./arguments.ts";
import { transactionRow, utc, type Row } from "./output.ts";

export interface Bonding {
  readonly agent: AgentRecord;
  readonly terms: ChainTerms;
  readonly actions: Pick<OperatorActions, "bond">;
  readonly account: Address;
  /** In whole stake tokens, as it was typed. */
  readonly amount: string;
  /** What is done, e.g. "Delegate". */
  readonly verb: string;
}

export interface Bonded {
  readonly json: object;
  /** Total stake of the account in words, with its shares. */
  readonly total: string;
  readonly transaction: Row;
  /** When the account's joining stake may earn, in words; null if all of it does. */
  readonly earnsFrom: string | null;
}

/** Adds stake of an account to an agent. Throws USAGE, and STAKE_MISSING with what it holds and what there is room for. */
export async function bond(bonding: Bonding, signal: AbortSignal): Promise<Bonded> {
  const { agent, terms, actions, account, verb } = bonding;
  const { stakeToken } = terms;
  const { agentId } = agent;
  const amount = parseAmount(bonding.amount, stakeToken, "<amount>");
  const held = (await terms.holdings(account, signal)).stakeToken;
  const room = terms.maxStake - agent.stake;
  if (amount === 0n || amount > held || amount > room) {
    const show = (units: bigint): string => formatAmount(units, stakeToken);
    throw new ConclaveError(
      "STAKE_MISSING",
      `${verb} ${show(amount)} to agent ${agentId}: ${account} holds ${show(held)}, and the agent has room for ${show(room)}`,
      { amount: String(amount), balance: String(held), room: String(room) },
    );
  }
  const receipt = await actions.bond(agentId, amount);
  const { shares, bonded, joining, joiningEnd } = await terms.position(agentId, account, signal);
  const { transactionHash, gasUsed } = receipt;
  return {
    json: { agentId, account, amount, shares, bonded, joining, joiningEnd, transactionHash, gasUsed },
    total: `${formatAmount(bonded, stakeToken)} in all (${shares} shares)`,
    transaction: transactionRow(receipt),
    earnsFrom: joining === 0n ? null : utc(joiningEnd),
  };
}
