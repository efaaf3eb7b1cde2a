import { ConclaveError } from "../../core/errors.ts";
import { accountFlags, type AccountFlags } from "../shared/account.ts";
import { formatAmount, usage } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { findAgent, openDelegator } from "../shared/delegator.ts";
import { rows, utc, transactionRow } from "../shared/output.ts";

interface Options extends AccountFlags {
  readonly all?: true;
  readonly withdraw?: true;
}

export const undelegate: CommandSpec<Options> = {
  example:
    "conclave undelegate 3 --all --keystore ./keystore.json\nconclave undelegate 3 --withdraw --keystore ./keystore.json",
  options: [
    { flags: "--all", description: "all shares, see `conclave delegations`" },
    { flags: "--withdraw", description: "take out what is unbonded already" },
    ...accountFlags,
  ],
  run: async ({ args: [id, text], options, host }) => {
    if ([text, options.all, options.withdraw].filter((one) => one !== undefined).length !== 1)
      throw new ConclaveError("USAGE", "Undelegate: give one of SHARES, --all and --withdraw", {});
    const { terms, chain, account, actions } = await openDelegator(options, host);
    const { agentId } = await findAgent(id, chain, host);
    const before = await terms.position(agentId, account, host.signal);
    const receipt =
      options.withdraw === true
        ? await actions.withdrawStake(agentId, account)
        : await actions.startUnbonding(agentId, text === undefined ? before.shares : parseShares(text));
    const { shares, bonded, unbonding, unbondingEnd } = await terms.position(agentId, account, host.signal);
    const withdrawn = options.withdraw === true ? before.unbonding : 0n;
    const { transactionHash, gasUsed } = receipt;
    return {
      json: { agentId, account, shares, bonded, unbonding, unbondingEnd, withdrawn, transactionHash, gasUsed },
      text: rows([
        ["agent", String(agentId)],
        ["delegated", `${formatAmount(bonded, terms.stakeToken)} (${shares} shares)`],
        ["unbonding", formatAmount(unbonding, terms.stakeToken)],
        ...(unbonding === 0n ? [] : [["free at", utc(unbondingEnd)] as const]),
        ...(withdrawn === 0n ? [] : [["withdrawn", formatAmount(withdrawn, terms.stakeToken)] as const]),
        transactionRow(receipt),
      ]),
    };
  },
};

function parseShares(text: string): bigint {
  if (!/^[1-9]\d{0,38}$/.test(text)) throw usage("[shares]", text, "give a whole number of shares, or --all");
  return BigInt(text);
}
