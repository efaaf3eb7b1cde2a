import { formatEther } from "viem";
import { STALL_MS, STALLED } from "../../adapters/chain/stall.ts";
import type { Holdings } from "../../adapters/chain/terms.ts";
import { createFileJournals } from "../../adapters/journal/file-journal.ts";
import { descriptorOf } from "../../adapters/models/create-model.ts";
import { MAX_MISSES, PROVEN_SERVICES, type AgentRecord, type StakePosition } from "../../ports/chain.ts";
import { formatAmount } from "../shared/arguments.ts";
import { skillOf } from "../../core/skill.ts";
import type { CommandSpec } from "../shared/command.ts";
import { addressesOf } from "../shared/content-source.ts";
import { dirFlag, type AgentFlags } from "../shared/keys.ts";
import { lookUpAgent, requireRegistered, type AgentOnChain } from "../shared/operator.ts";
import { percent, printable, rows, utc, type Row } from "../shared/output.ts";
import { skillText } from "../shared/skill.ts";
import { amountsText, creditText } from "../shared/withdrawals.ts";
import { join } from "node:path";

export const JOURNAL_FOLDER = "journals";

const DUTY = /^request-(\d+)-(\d+)$/;

export const agentStatus: CommandSpec<AgentFlags> = {
  example: "conclave agent status --dir ./my-agent",
  options: [dirFlag],
  run: async ({ options, host }) => {
    const agent = await lookUpAgent(options, host);
    const { config, terms, signer } = agent;
    const record = requireRegistered(agent);
    const [position, rewards, own, gas, { services, misses, learned }, head] = await Promise.all([
      terms.position(record.agentId, record.operator, host.signal),
      terms.rewards(record.agentId, record.operator, host.signal),
      terms.holdings(record.operator, host.signal),
      terms.holdings(signer, host.signal),
      terms.service(record.agentId, host.signal),
      agent.chain.head(host.signal),
    ]);
    const peers = addressesOf([record]).map(String);
    const duties = await openDuties(config.dataDir);
    const stake = (amount: bigint): string => formatAmount(amount, terms.stakeToken);
    // A file's digest takes long: `agent run` and the doctor compare it.
    const configured = config.model.kind === "openai" ? await descriptorOf(config.model) : record.model;
    return {
      json: {
        ...record,
        publicKey: undefined,
        peers,
        services,
        misses,
        ...learned,
        skill: skillOf(learned),
        ownStake: position.bonded,
        joining: position.joining,
        joiningEnd: position.joiningEnd,
        ownUnbonding: position.unbonding,
        unbondingEnd: position.unbondingEnd,
        rewards,
        credit: own.credit,
        signerCredit: gas.credit,
        operatorTokens: own.stakeToken,
        signerCoin: gas.coin,
        duties,
        head,
      },
      text: rows([
        ["agent", `${record.agentId} (${activityOf(record)})`],
        ["signer", `${signer} (${formatEther(gas.coin)} coins for gas)`],
        ["operator", `${record.operator} (${stake(own.stakeToken)})`],
        ["model", printable(record.model)],
        ...otherModelRows(configured, record, options),
        ["endpoint", record.endpoint.length === 0 ? "none yet: run the agent" : printable(record.endpoint.join(", "))],
        ["for --peer", peers.length === 0 ? "none yet" : printable(peers.join(", "))],
        ["stake", stake(position.bonded)],
        ...joiningRows(position, agent, record, options),
        [
          "unbonding",
          position.unbonding === 0n ? "none" : `${stake(position.unbonding)}, free at ${utc(position.unbondingEnd)}`,
        ],
        ["delegated", stake(record.stake - position.bonded)],
        ["reputation", percent(record.reputation)],
        ["skill", skillText(learned)],
        ["services", servicesText(services)],
        ["missed", `${misses} seats in a row; after ${MAX_MISSES} it sleeps`],
        ["commission", commissionText(record)],
        ["rewards", amountsText(rewards, terms.feeToken)],
        ...creditRows(own.credit, gas.credit, agent, record, options),
        ["latest block", `${head.number}, of ${utc(head.timestamp)}${isStalled(head.timestamp) ? `: ${STALLED}` : ""}`],
        ["open duties", duties.length === 0 ? "none" : duties.map(({ requestId }) => requestId).join(", ")],
      ]),
    };
  },
};

/** Warns, as the log of `agent run` does, where askers read another model in the registry. */
function otherModelRows(configured: string, { model }: AgentRecord, { dir }: AgentFlags): readonly Row[] {
  if (configured === model) return [];
  const way = `run conclave agent model --dir ${dir} --set`;
  return [["warning", `the config names another model, ${printable(configured)}: ${way}`]];
}

/** RW6: tells how much of the operator's stake does not earn yet, and what lets it earn. */
function joiningRows(
  { bonded, shares, joining, joiningEnd }: StakePosition,
  { config, terms, signer }: AgentOnChain,
  { operator }: AgentRecord,
  { dir }: AgentFlags,
): readonly Row[] {
  if (joining === 0n) return [];
  const amount = formatAmount((bonded * joining) / shares, terms.stakeToken);
  const keystore = operator === signer ? "" : ` --keystore ${config.operatorKeystore ?? "OPERATOR_KEYSTORE"}`;
  const way = `conclave delegations --earn --dir ${dir}${keystore}`;
  return [["joining", `${amount}, may earn from ${utc(joiningEnd)} on, once you run ${way}`]];
}

/** The operator is paid for seats, the signer for what it relays. */
function creditRows(
  own: Holdings["credit"],
  signers: Holdings["credit"],
  { terms, signer }: AgentOnChain,
  { operator }: AgentRecord,
  { dir }: AgentFlags,
): readonly Row[] {
  const claim = creditText(own, terms.feeToken, `conclave agent claim --dir ${dir}`);
  if (operator === signer) return [["credit", claim]];
  return [
    ["operator's credit", claim],
    ["signer's credit", creditText(signers, terms.feeToken, `conclave withdraw --dir ${dir}`)],
  ];
}

/** By this machine's clock, since one look cannot see blocks come. */
function isStalled(timestamp: number): boolean {
  return Date.now() - timestamp * 1_000 > STALL_MS;
}

function activityOf({ active, exited, asleep }: AgentRecord): string {
  if (exited)
    return "out of the draw for good: its reputation fell too low, or it was slashed while it had less than the minimum stake";
  if (asleep) return `asleep, it missed ${MAX_MISSES} seats in a row: run it to wake it`;
  return active ? "active" : "not active";
}

function commissionText({ commission, raise }: AgentRecord): string {
  const announced = raise === null ? "" : `; ${percent(raise.commission)} may take effect from ${utc(raise.time)} on`;
  return `${percent(commission)}${announced}`;
}

function servicesText(services: number): string {
  if (services >= PROVEN_SERVICES) return `${services} or more: proven, its stake weighs in full in the draw`;
  return `${services} of ${PROVEN_SERVICES} settled requests: fresh, its stake weighs half in the draw`;
}

/** Finds the attempts in which this agent still has a seat, by its journals. */
async function openDuties(
  dataDir: string,
): Promise<readonly { readonly requestId: string; readonly attempt: number }[]> {
  const names = await createFileJournals(join(dataDir, JOURNAL_FOLDER)).list();
  return names.flatMap((name) => {
    const [, requestId, attempt] = DUTY.exec(name) ?? [];
    return requestId === undefined ? [] : [{ requestId, attempt: Number(attempt) }];
  });
}
