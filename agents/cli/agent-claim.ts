import { createOperatorActions } from "../adapters/chain/operator.ts";
import { createChainReader } from "../adapters/chain/reader.ts";
import { createChainWriter } from "../adapters/chain/writer.ts";
import { formatAmount, parseAddress } from "./arguments.ts";
import { creditClaims, findClaims } from "./claims.ts";
import type { CommandSpec } from "./command.ts";
import { operatorFlags, type OperatorFlags } from "./keys.ts";
import { openOperator } from "./operator.ts";
import { rows } from "./output.ts";

interface Options extends OperatorFlags {
  readonly to?: string;
}

export const agentClaim: CommandSpec<Options> = {
  name: "claim",
  summary: "credit the pay of all decisions the agent sat for, then withdraw the operator's balance",
  example: "conclave agent claim --dir ./my-agent",
  options: [...operatorFlags, { flags: "--to <address>", description: "receiver (default: the operator)" }],
  run: async ({ options, host, progress }) => {
    const { source, terms, keys, record } = await openOperator(options, host);
    const to = options.to === undefined ? keys.address : parseAddress(options.to, "--to");
    const account = keys.viemAccount();
    const chain = await createChainReader({ ...source, finalityDepth: 0 }, host.signal);
    const claims = await findClaims(chain, record.agentId, host.signal);
    progress(`${claims.length} decisions to credit`);
    const credited = await creditClaims(
      await createChainWriter({ ...source, account }, host.signal),
      claims,
      host.signal,
    );
    const actions = await createOperatorActions({ ...source, account }, host.signal);
    const amount = await actions.balanceOf(keys.address);
    const withdrawal = amount === 0n ? null : await actions.withdrawBalance(amount, to);
    const requestIds = claims.map(({ request }) => request.id);
    return {
      json: {
        agentId: record.agentId,
        requestIds,
        creditTransactions: credited.map(({ transactionHash }) => transactionHash),
        amount,
        to,
        transactionHash: withdrawal?.transactionHash ?? null,
      },
      text: rows([
        ["agent", String(record.agentId)],
        ["credited", requestIds.length === 0 ? "nothing was left to credit" : `requests ${requestIds.join(", ")}`],
        [
          "withdrawn",
          withdrawal === null ? "nothing: the balance is 0" : `${formatAmount(amount, terms.feeToken)} to ${to}`,
        ],
        ["transaction", withdrawal?.transactionHash ?? "none"],
      ]),
    };
  },
};
