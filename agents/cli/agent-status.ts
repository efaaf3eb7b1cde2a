import { formatEther } from "viem";
import { createFileJournals } from "../adapters/journal/file-journal.ts";
import { formatAmount } from "./arguments.ts";
import type { CommandSpec } from "./command.ts";
import { dirFlag, type AgentFlags } from "./keys.ts";
import { lookUpAgent, requireRegistered } from "./operator.ts";
import { percent, printable, rows, utc } from "./output.ts";
import { join } from "node:path";

export const JOURNAL_FOLDER = "journals";

const DUTY = /^request-(\d+)-(\d+)$/;

export const agentStatus: CommandSpec<AgentFlags> = {
  name: "status",
  summary: "show the agent as the chain knows it; needs no password",
  example: "conclave agent status --dir ./my-agent",
  options: [dirFlag],
  run: async ({ options, host }) => {
    const agent = await lookUpAgent(options, host);
    const { config, terms, signer } = agent;
    const record = requireRegistered(agent);
    const [own, gas] = await Promise.all([
      terms.holdings(record.operator, host.signal),
      terms.holdings(signer, host.signal),
    ]);
    const duties = await openDuties(config.dataDir);
    const stake = (amount: bigint): string => formatAmount(amount, terms.stakeToken);
    return {
      json: {
        ...record,
        publicKey: undefined,
        balance: own.oracle,
        operatorTokens: own.stakeToken,
        signerCoin: gas.coin,
        duties,
      },
      text: rows([
        ["agent", `${record.agentId} (${record.active ? "active" : "not active"})`],
        ["signer", `${signer} (${formatEther(gas.coin)} coins for gas)`],
        ["operator", `${record.operator} (${stake(own.stakeToken)})`],
        ["model", printable(record.model)],
        ["endpoint", record.endpoint.length === 0 ? "none yet: run the agent" : printable(record.endpoint.join(", "))],
        ["stake", stake(record.stake)],
        [
          "unbonding",
          record.unbonding === 0n ? "none" : `${stake(record.unbonding)}, free at ${utc(record.unbondingEnd)}`,
        ],
        ["reputation", percent(record.reputation)],
        ["balance", `${formatAmount(own.oracle, terms.feeToken)} in the oracle`],
        ["open duties", duties.length === 0 ? "none" : duties.map(({ requestId }) => requestId).join(", ")],
      ]),
    };
  },
};

/** Attempts in which this agent still has a seat, by its journals. */
async function openDuties(
  dataDir: string,
): Promise<readonly { readonly requestId: string; readonly attempt: number }[]> {
  const names = await createFileJournals(join(dataDir, JOURNAL_FOLDER)).list();
  return names.flatMap((name) => {
    const [, requestId, attempt] = DUTY.exec(name) ?? [];
    return requestId === undefined ? [] : [{ requestId, attempt: Number(attempt) }];
  });
}
