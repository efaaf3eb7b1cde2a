import { ConclaveError } from "../../core/errors.ts";
import { accountFlags, type AccountFlags } from "../shared/account.ts";
import { formatAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { findAgent, openDelegator } from "../shared/delegator.ts";
import { rows, transactionRow } from "../shared/output.ts";

export const agentTakeOver: CommandSpec<AccountFlags> = {
  example: "conclave agent take-over 3 --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ args, options, host }) => {
    const { terms, chain, account, actions } = await openDelegator(options, host);
    const { agentId, operator } = await findAgent(args[0], chain, host);
    const { bonded } = await terms.position(agentId, account, host.signal);
    if (bonded < terms.minStake) {
      const show = (amount: bigint): string => formatAmount(amount, terms.stakeToken);
      const missing = terms.minStake - bonded;
      throw new ConclaveError(
        "STAKE_MISSING",
        `Take over agent ${agentId}: ${account} has ${show(bonded)} bonded to it, and an operator needs ${show(terms.minStake)} of its own; bond ${show(missing)} more with "conclave delegate"`,
        { agentId, stake: String(bonded), minStake: String(terms.minStake) },
      );
    }
    const receipt = await actions.acceptOperator(agentId);
    const { transactionHash, gasUsed } = receipt;
    return {
      json: { agentId, operator: account, before: operator, transactionHash, gasUsed },
      text: rows([
        ["agent", String(agentId)],
        ["operator", `${account}, before ${operator}`],
        transactionRow(receipt),
        ["next", "whoever runs the agent names this account's keystore as operatorKeystore in its config"],
      ]),
    };
  },
};
