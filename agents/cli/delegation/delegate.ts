import { accountFlags, type AccountFlags } from "../shared/account.ts";
import { requireAmount } from "../shared/arguments.ts";
import { bond } from "../shared/bond.ts";
import type { CommandSpec } from "../shared/command.ts";
import { findAgent, openDelegator } from "../shared/delegator.ts";
import { percent, rows } from "../shared/output.ts";

export const delegate: CommandSpec<AccountFlags> = {
  example: "conclave delegate 3 250 --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ args: [id, amount = ""], options, host }) => {
    requireAmount(amount, "<amount>");
    const { terms, chain, account, actions } = await openDelegator(options, host);
    const agent = await findAgent(id, chain, host);
    const { commission, raise } = agent;
    const bonded = await bond({ agent, terms, actions, account, amount, verb: "Delegate" }, host.signal);
    const { earnsFrom } = bonded;
    return {
      json: { ...bonded.json, commission, raise },
      text: rows([
        ["agent", String(agent.agentId)],
        ["delegated", bonded.total],
        [
          "commission",
          raise === null ? percent(commission) : `${percent(commission)}, ${percent(raise.commission)} announced`,
        ],
        bonded.transaction,
        earnsFrom === null
          ? ["next", "conclave delegations"]
          : ["next", `conclave delegations --earn, from ${earnsFrom} on: before it earns nothing`],
      ]),
    };
  },
};
