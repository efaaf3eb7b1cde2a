import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { createChainReader } from "../../adapters/chain/reader.ts";
import { readChainTerms, type ChainTerms } from "../../adapters/chain/terms.ts";
import { accountAddress, accountFlags, openActions, type AccountFlags } from "../shared/account.ts";
import { formatAmount, parseAddress } from "../shared/arguments.ts";
import { findChain } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import { grid, percent, rows, utc } from "../shared/output.ts";
import { amountsText, claimAll, claimRows } from "../shared/withdrawals.ts";

interface Options extends AccountFlags {
  readonly claim?: true;
  readonly earn?: true;
  readonly to?: string;
}

export const delegations: CommandSpec<Options> = {
  example:
    "conclave delegations --keystore ./keystore.json\nconclave delegations --earn --keystore ./keystore.json\nconclave delegations --claim --keystore ./keystore.json",
  options: [
    { flags: "--earn", description: "let the stake earn that was bonded 14 days ago or earlier" },
    { flags: "--claim", description: "pay out all rewards" },
    { flags: "--to <address>", description: "receiver (default: the account itself)" },
    ...accountFlags,
  ],
  run: async ({ options, host }) => {
    if (options.to !== undefined && options.claim === undefined)
      throw new ConclaveError("USAGE", "List delegations: --to goes with --claim", {});
    const source = await findChain(options, host);
    const [terms, chain, account] = await Promise.all([
      readChainTerms(source, host.signal),
      createChainReader({ ...source, finalityDepth: 0 }, host.signal),
      accountAddress(options, host),
    ]);
    const isActing = options.earn === true || options.claim === true;
    const actions = isActing ? (await openActions(source, options, host)).actions : null;
    const to = options.to === undefined ? account : parseAddress(options.to, "--to");
    const agents = await chain.agents(host.signal);
    if (actions !== null && options.earn === true) {
      const { timestamp } = await chain.head(host.signal);
      for (const { agentId, joining, joiningEnd } of await positionsOf(agents, terms, account, host.signal))
        if (joining !== 0n && joiningEnd <= timestamp) await actions.startEarning(agentId);
    }
    const found = await positionsOf(agents, terms, account, host.signal);
    const claims = [];
    if (actions !== null && options.claim === true)
      for (const { agentId } of found) claims.push(...(await claimAll(actions, terms, agentId, to, host.signal)));
    const stake = (amount: bigint): string => formatAmount(amount, terms.stakeToken);
    const list = grid(
      ["agent", "delegated", "shares", "joining", "unbonding", "commission", "rewards"],
      found.map(({ agentId, commission, bonded, shares, joining, joiningEnd, unbonding, unbondingEnd, rewards }) => [
        String(agentId),
        stake(bonded),
        String(shares),
        joining === 0n ? "none" : `${joining} shares, may earn from ${utc(joiningEnd)}`,
        unbonding === 0n ? "none" : `${stake(unbonding)}, free at ${utc(unbondingEnd)}`,
        percent(commission),
        amountsText(rewards, terms.feeToken),
      ]),
    );
    return {
      json: { account, delegations: found, ...(options.claim === true ? { claims, to } : {}) },
      text: [
        found.length === 0 ? "no delegations" : list,
        ...(options.claim === true ? [rows(claimRows(claims, terms.feeToken, to))] : []),
      ].join("\n"),
    };
  },
};

/** Finds the agents for which the account has stake or rewards to claim. */
async function positionsOf(agents: readonly AgentRecord[], terms: ChainTerms, account: Address, signal: AbortSignal) {
  const all = [];
  for (const { agentId, operator, commission, raise } of agents) {
    const position = await terms.position(agentId, account, signal);
    const rewards = await terms.rewards(agentId, account, signal);
    all.push({ agentId, operator, commission, raise, ...position, rewards });
  }
  return all.filter(({ shares, unbonding, rewards }) => shares + unbonding + rewards.token + rewards.native !== 0n);
}
