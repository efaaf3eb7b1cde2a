import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { provePossession } from "../../adapters/chain/possession.ts";
import { createModel } from "../../adapters/models/create-model.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { ChainTerms } from "../../adapters/chain/terms.ts";
import type { Address } from "../../core/types.ts";
import { formatAmount, parseAmount, parseCommission } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import type { AgentConfig } from "../shared/config.ts";
import {
  keystoreAddress,
  openAgentKeys,
  openOperatorKeys,
  operatorFlags,
  operatorKeystore,
  type OperatorFlags,
} from "../shared/keys.ts";
import { lookUpAgent } from "../shared/operator.ts";
import { percent, rows } from "../shared/output.ts";

interface Options extends OperatorFlags {
  readonly stake: string;
  readonly commission: string;
}

const commissionFlag = {
  flags: "--commission <percent>",
  description: "the operator's percentage of the pay, before the rest is divided by stake; at most 50",
  default: "10",
};

export const agentRegister: CommandSpec<Options> = {
  example: "conclave agent register --dir ./my-agent --stake 100",
  options: [
    ...operatorFlags,
    { flags: "--stake <amount>", description: "in whole stake tokens, e.g. 12.5", required: true },
    commissionFlag,
  ],
  run: async ({ options, host }) => {
    const agent = await lookUpAgent(options, host);
    const { config, source, terms, record } = agent;
    const stake = parseAmount(options.stake, terms.stakeToken, "--stake");
    const commission = parseCommission(options.commission, "--commission");
    if (record !== null) {
      throw new ConclaveError(
        "USAGE",
        `Register ${agent.signer}: it is agent ${record.agentId} already; nothing is left to do`,
        { agentId: record.agentId },
      );
    }
    const path = operatorKeystore(config, options, host);
    await requireStake(terms, await keystoreAddress(path), stake, host.signal);
    const keys = await openAgentKeys(config, options, host);
    const operator = path === config.keystore ? keys : await openOperatorKeys(config, options, host);
    const descriptor = await describeModel(config);
    const actions = await createOperatorActions({ ...source, account: operator.viemAccount() }, host.signal);
    const possession = provePossession(keys, {
      chainId: source.chainId,
      registry: source.registry,
      operator: operator.address,
    });
    const { publicKey } = keys;
    const { agentId, receipt } = await actions.register({
      publicKey,
      possession,
      model: descriptor,
      endpoint: knownEndpoint(config),
      stake,
      commission,
    });
    const { transactionHash, gasUsed } = receipt;
    return {
      json: {
        agentId,
        signer: keys.address,
        operator: operator.address,
        stake,
        commission,
        model: descriptor,
        transactionHash,
        gasUsed,
      },
      text: rows([
        ["agent", String(agentId)],
        ["signer", keys.address],
        ["operator", operator.address],
        ["stake", formatAmount(stake, terms.stakeToken)],
        ["commission", percent(commission)],
        ["model", descriptor],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
        ["next", `conclave agent run --dir ${options.dir}`],
      ]),
    };
  },
};

/** Checks the stake before the contract would, so that the error names whole tokens. */
async function requireStake(terms: ChainTerms, operator: Address, stake: bigint, signal: AbortSignal): Promise<void> {
  const { stakeToken, minStake, maxStake } = terms;
  const show = (amount: bigint): string => formatAmount(amount, stakeToken);
  if (stake < minStake || stake > maxStake) {
    throw new ConclaveError(
      "STAKE_MISSING",
      `Stake ${show(stake)}: the registry takes ${show(minStake)} to ${show(maxStake)}; correct --stake`,
      {
        stake: String(stake),
        minStake: String(minStake),
        maxStake: String(maxStake),
      },
    );
  }
  const held = (await terms.holdings(operator, signal)).stakeToken;
  if (held >= stake) return;
  throw new ConclaveError(
    "STAKE_MISSING",
    `Stake ${show(stake)}: ${operator} holds ${show(held)}; send it ${show(stake - held)} more`,
    {
      account: operator,
      balance: String(held),
      required: String(stake),
    },
  );
}

/** Loads the model and returns its descriptor: an agent whose model does not load could never answer. */
async function describeModel(config: AgentConfig): Promise<string> {
  const model = await createModel(config.model);
  await model.close();
  return model.descriptor;
}

/** Returns the addresses that are known before the agent listens; `agent run` writes the rest. */
function knownEndpoint({ announce, listen }: AgentConfig): readonly string[] {
  return announce.length > 0
    ? announce
    : listen.filter((address) => !/\/tcp\/0$|^\/ip4\/0\.0\.0\.0\/|^\/ip6\/::\//.test(address));
}
