import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { requireAmount } from "../shared/arguments.ts";
import { bond } from "../shared/bond.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { rows } from "../shared/output.ts";

export const agentStake: CommandSpec<OperatorFlags> = {
  example: "conclave agent stake 500 --dir ./my-agent",
  options: operatorFlags,
  run: async ({ args: [amount = ""], options, host }) => {
    requireAmount(amount, "<amount>");
    const { source, terms, chain, keys, record } = await openOperator(options, host);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const bonded = await bond(
      { agent: record, terms, actions, account: keys.address, amount, verb: "Add" },
      host.signal,
    );
    const active = (await chain.agentBySigner(record.signer, host.signal))?.active === true;
    const { earnsFrom } = bonded;
    return {
      json: { ...bonded.json, active },
      text: rows([
        ["agent", `${record.agentId} (${active ? "active" : "not active"})`],
        ["own stake", bonded.total],
        bonded.transaction,
        ...(earnsFrom === null
          ? []
          : [["earns", `the new stake from ${earnsFrom} on, once you call conclave delegations --earn`] as const]),
      ]),
    };
  },
};
