import { ConclaveError } from "../../core/errors.ts";
import { accountFlags, type AccountFlags } from "../shared/account.ts";
import { formatAmount, parseAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { findAgent, openDelegator } from "../shared/delegator.ts";
import { percent, rows, transactionRow, utc } from "../shared/output.ts";

export const delegate: CommandSpec<AccountFlags> = {
  example: "conclave delegate 3 250 --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ args: [id, text = ""], options, host }) => {
    const { terms, chain, account, actions } = await openDelegator(options, host);
    const { stakeToken } = terms;
    const { agentId, stake, commission, raise } = await findAgent(id, chain, host);
    const amount = parseAmount(text, stakeToken, "<amount>");
    const held = (await terms.holdings(account, host.signal)).stakeToken;
    const room = terms.maxStake - stake;
    if (amount === 0n || amount > held || amount > room) {
      const show = (units: bigint): string => formatAmount(units, stakeToken);
      throw new ConclaveError(
        "STAKE_MISSING",
        `Delegate ${show(amount)} to agent ${agentId}: ${account} holds ${show(held)}, and the agent has room for ${show(room)}`,
        { amount: String(amount), balance: String(held), room: String(room) },
      );
    }
    const receipt = await actions.bond(agentId, amount);
    const { shares, bonded, joining, joiningEnd } = await terms.position(agentId, account, host.signal);
    const { transactionHash, gasUsed } = receipt;
    return {
      json: {
        agentId,
        account,
        amount,
        shares,
        bonded,
        joining,
        joiningEnd,
        commission,
        raise,
        transactionHash,
        gasUsed,
      },
      text: rows([
        ["agent", String(agentId)],
        ["delegated", `${formatAmount(bonded, stakeToken)} in all (${shares} shares)`],
        [
          "commission",
          raise === null ? percent(commission) : `${percent(commission)}, ${percent(raise.commission)} announced`,
        ],
        transactionRow(receipt),
        joining === 0n
          ? ["next", "conclave delegations"]
          : ["next", `conclave delegations --earn, from ${utc(joiningEnd)} on: before it earns nothing`],
      ]),
    };
  },
};
