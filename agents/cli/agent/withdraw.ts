import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { ConclaveError } from "../../core/errors.ts";
import { formatAmount, formatDuration, parseAddress } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { rows, utc } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly to?: string;
}

export const agentWithdraw: CommandSpec<Options> = {
  example: "conclave agent withdraw --dir ./my-agent",
  options: [...operatorFlags, { flags: "--to <address>", description: "receiver (default: the operator)" }],
  run: async ({ options, host }) => {
    const { source, terms, chain, keys, record } = await openOperator(options, host);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const { unbonding, unbondingEnd } = await terms.position(record.agentId, keys.address, host.signal);
    const amount = formatAmount(unbonding, terms.stakeToken);
    if (unbonding === 0n) {
      throw new ConclaveError(
        "STAKE_MISSING",
        `Withdraw the stake of agent ${record.agentId}: none is unbonding; begin with "conclave agent unstake"`,
        {
          agentId: record.agentId,
          unbonding: "0",
        },
      );
    }
    const { timestamp } = await chain.head(host.signal);
    if (timestamp < unbondingEnd) {
      throw new ConclaveError(
        "STAKE_MISSING",
        `Withdraw ${amount}: it is bound until ${utc(unbondingEnd)}; come back in ${formatDuration(unbondingEnd - timestamp)}`,
        {
          agentId: record.agentId,
          unbondingEnd,
        },
      );
    }
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const { transactionHash, gasUsed } = await actions.withdrawStake(record.agentId, to);
    return {
      json: { agentId: record.agentId, amount: unbonding, to, transactionHash, gasUsed },
      text: rows([
        ["agent", String(record.agentId)],
        ["withdrawn", `${amount} to ${to}`],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
      ]),
    };
  },
};
