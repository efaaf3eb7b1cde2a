import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { StakePosition } from "../../ports/chain.ts";
import { formatAmount, parseAmount, requireAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { rows, utc } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly amount: string;
}

export const agentUnstake: CommandSpec<Options> = {
  example: "conclave agent unstake --dir ./my-agent --amount all",
  options: [
    ...operatorFlags,
    { flags: "--amount <amount>", description: 'in whole stake tokens, or "all"', required: true },
  ],
  run: async ({ options, host }) => {
    if (options.amount !== "all") requireAmount(options.amount, "--amount");
    const { source, terms, chain, keys, record } = await openOperator(options, host);
    const { stakeToken, unbondingDelaySeconds } = terms;
    const before = await terms.position(record.agentId, keys.address, host.signal);
    const amount = options.amount === "all" ? before.bonded : parseAmount(options.amount, stakeToken, "--amount");
    if (amount > before.bonded || amount === 0n) {
      throw new ConclaveError(
        "STAKE_MISSING",
        `Unstake ${formatAmount(amount, stakeToken)}: the operator's stake is ${formatAmount(before.bonded, stakeToken)}; give more than 0 and no more than that`,
        { stake: String(before.bonded), amount: String(amount) },
      );
    }
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const { transactionHash, gasUsed } = await actions.startUnbonding(record.agentId, sharesOf(before, amount));
    const after = await terms.position(record.agentId, keys.address, host.signal);
    const { bonded: stake, unbonding, unbondingEnd } = after;
    const active = (await chain.agentBySigner(record.signer, host.signal))?.active === true;
    return {
      json: {
        agentId: record.agentId,
        amount,
        stake,
        unbonding,
        unbondingEnd,
        unbondingDelaySeconds,
        transactionHash,
        gasUsed,
      },
      text: rows([
        ["agent", `${record.agentId} (${active ? "active" : "not active"})`],
        ["unbonding", formatAmount(unbonding, stakeToken)],
        ["stake left", formatAmount(stake, stakeToken)],
        ["free at", utc(unbondingEnd)],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
        ["next", `after that: conclave agent withdraw --dir ${options.dir}`],
      ]),
    };
  },
};

/** Returns the shares that are worth the amount, rounded up: a share is worth at most one unit. */
function sharesOf({ shares, bonded }: StakePosition, amount: bigint): bigint {
  return (amount * shares + bonded - 1n) / bonded;
}
