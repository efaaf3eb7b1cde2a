import { accountFlags, type AccountFlags, openOwnAccount } from "../shared/account.ts";
import { formatAmount, parseAddress } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, transactionRow } from "../shared/output.ts";
import { withdrawAll, withdrawalRows } from "../shared/withdrawals.ts";

interface Options extends AccountFlags {
  readonly to?: string;
}

export const withdraw: CommandSpec<Options> = {
  example: "conclave withdraw --keystore ./keystore.json",
  options: [{ flags: "--to <address>", description: "receiver (default: the account itself)" }, ...accountFlags],
  run: async ({ options, host }) => {
    const { terms, keys, actions } = await openOwnAccount(options, host);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const withdrawals = await withdrawAll(actions, terms, to, host.signal);
    const amount = await terms.reward(keys.address, host.signal);
    const reward = amount === 0n ? null : { amount, ...(await actions.claimReward(to)) };
    return {
      json: {
        withdrawals,
        reward: reward === null ? null : { amount, transactionHash: reward.transactionHash },
        to,
      },
      text: rows([
        ...withdrawalRows(withdrawals, terms.feeToken, to),
        ...(reward === null
          ? []
          : [["reward", `${formatAmount(amount, terms.stakeToken)} to ${to}`] as const, transactionRow(reward)]),
      ]),
    };
  },
};
