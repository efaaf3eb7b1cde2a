import { createOperatorActions } from "../adapters/chain/operator.ts";
import { ConclaveError } from "../core/errors.ts";
import { formatAmount, parseAmount } from "./arguments.ts";
import type { CommandSpec } from "./command.ts";
import { operatorFlags, type OperatorFlags } from "./keys.ts";
import { openOperator } from "./operator.ts";
import { rows, utc } from "./output.ts";

interface Options extends OperatorFlags {
  readonly amount: string;
}

export const agentUnstake: CommandSpec<Options> = {
  name: "unstake",
  summary: "begin to take stake back; it is free after the unbonding delay",
  example: "conclave agent unstake --dir ./my-agent --amount all",
  options: [
    ...operatorFlags,
    { flags: "--amount <amount>", description: 'in whole stake tokens, or "all"', required: true },
  ],
  run: async ({ options, host }) => {
    const { source, terms, chain, keys, record } = await openOperator(options, host);
    const { stakeToken, unbondingDelaySeconds } = terms;
    const amount = options.amount === "all" ? record.stake : parseAmount(options.amount, stakeToken, "--amount");
    if (amount > record.stake || amount === 0n) {
      throw new ConclaveError(
        "STAKE_MISSING",
        `Unstake ${formatAmount(amount, stakeToken)}: the agent's stake is ${formatAmount(record.stake, stakeToken)}; give more than 0 and no more than that`,
        { stake: String(record.stake), amount: String(amount) },
      );
    }
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const { transactionHash, gasUsed } = await actions.startUnbonding(record.agentId, amount);
    const after = await chain.agentBySigner(record.signer, host.signal);
    const unbondingEnd = after?.unbondingEnd ?? 0;
    return {
      json: {
        agentId: record.agentId,
        amount,
        stake: after?.stake,
        unbonding: after?.unbonding,
        unbondingEnd,
        unbondingDelaySeconds,
        transactionHash,
        gasUsed,
      },
      text: rows([
        ["agent", `${record.agentId} (${after?.active === true ? "active" : "not active"})`],
        ["unbonding", formatAmount(after?.unbonding ?? amount, stakeToken)],
        ["stake left", formatAmount(after?.stake ?? 0n, stakeToken)],
        ["free at", utc(unbondingEnd)],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
        ["next", `after that: conclave agent withdraw --dir ${options.dir}`],
      ]),
    };
  },
};
