import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { createChainReader } from "../../adapters/chain/reader.ts";
import { createChainWriter } from "../../adapters/chain/writer.ts";
import { parseAddress } from "../shared/arguments.ts";
import { findClaims, settleClaims } from "./claims.ts";
import type { CommandSpec } from "../shared/command.ts";
import { operatorFlags, type OperatorFlags } from "../shared/keys.ts";
import { openOperator } from "../shared/operator.ts";
import { rows } from "../shared/output.ts";
import { claimAll, claimRows, creditText, withdrawAll, withdrawalRows } from "../shared/withdrawals.ts";

interface Options extends OperatorFlags {
  readonly to?: string;
}

export const agentClaim: CommandSpec<Options> = {
  example: "conclave agent claim --dir ./my-agent",
  options: [...operatorFlags, { flags: "--to <address>", description: "receiver (default: the operator)" }],
  run: async ({ options, host, tell }) => {
    const { source, terms, keys, record, signer } = await openOperator(options, host);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const account = keys.viemAccount();
    const chain = await createChainReader({ ...source, finalityDepth: 0 }, host.signal);
    const claims = await findClaims(chain, record.agentId, host.signal);
    tell(`${claims.length} requests to settle`);
    const writer = await createChainWriter({ ...source, account }, host.signal);
    const settled = await settleClaims(writer, claims, host.signal);
    const actions = await createOperatorActions({ ...source, account }, host.signal);
    const rewards = await claimAll(actions, terms, record.agentId, to, host.signal);
    const withdrawals = await withdrawAll(actions, terms, to, host.signal);
    const { credit } = await terms.holdings(signer, host.signal);
    // What the agent earned by relays is the signer's.
    const isSignerOwed = signer !== record.operator && credit.token + credit.native !== 0n;
    const requestIds = claims.map(({ request }) => request.id);
    return {
      json: {
        agentId: record.agentId,
        requestIds,
        settleTransactions: settled.map(({ transactionHash }) => transactionHash),
        rewards,
        withdrawals,
        signerCredit: credit,
        to,
      },
      text: rows([
        ["agent", String(record.agentId)],
        ["operator", record.operator],
        ["settled", requestIds.length === 0 ? "nothing was left to settle" : `requests ${requestIds.join(", ")}`],
        ...claimRows(rewards, terms.feeToken, to),
        ...withdrawalRows(withdrawals, terms.feeToken, to),
        ...(isSignerOwed
          ? [
              [
                "signer's credit",
                `${creditText(credit, terms.feeToken, `conclave withdraw --dir ${options.dir}`)} (${signer})`,
              ] as const,
            ]
          : []),
      ]),
    };
  },
};
