// Compares a subgraph with the contracts' state and events at the same block. This is an auditor's view: nothing here
// reads the mappings.
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import type { Hex, PublicClient } from "viem";
import { unpackPrices } from "../../agents/adapters/chain/prices.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackWord } from "../../agents/core/encoding/words.ts";
import { skillOf } from "../../agents/core/skill.ts";
import type { Entities } from "./entities.ts";
import { compare, lower, openLedger, rows, type Ledger, type Result } from "./ledger.ts";
import { readLogs } from "./logs.ts";
import { checkEvents } from "./check-events.ts";
import { checkSums } from "./check-sums.ts";
import type { Deployed } from "../../scripts/subgraph/manifest.ts";

export interface Checked extends Result {
  readonly entities: number;
}

const STATUSES = ["None", "Requested", "Decided", "Hung", "Unanswerable", "TooEarly", "Refunded"];

export async function checkEntities(
  entities: Entities,
  client: PublicClient,
  deployed: Deployed,
  block: number,
): Promise<Checked> {
  const { ledger, result } = openLedger();
  const chain = { client, deployed, blockNumber: BigInt(block) };
  await checkAgents(entities, chain, ledger);
  await checkAccounts(entities, chain, ledger);
  await checkSubscriptions(entities, chain, ledger);
  await checkRequests(entities, chain, ledger);
  await checkPrices(entities, chain, ledger);
  checkEvents(entities, await readLogs(client, deployed, chain.blockNumber), ledger);
  checkSums(entities, ledger);
  const count = Object.values(entities).reduce((sum, { size }) => sum + size, 0);
  return { entities: count, ...result() };
}

interface Chain {
  readonly client: PublicClient;
  readonly deployed: Deployed;
  readonly blockNumber: bigint;
}

async function checkAgents(
  entities: Entities,
  { client, deployed, blockNumber }: Chain,
  ledger: Ledger,
): Promise<void> {
  const registry = { address: deployed.registry, abi: agentRegistryAbi, blockNumber } as const;
  const deployment = rows(entities, "Deployment")[0];
  const count = await client.readContract({ ...registry, functionName: "agentCount" });
  ledger.equal("number of agents", rows(entities, "Agent").length, count);
  ledger.equal("deployment.agents", deployment?.["agents"], count);
  ledger.equal(
    "deployment.activeAgents",
    deployment?.["activeAgents"],
    await client.readContract({ ...registry, functionName: "activeCount" }),
  );
  for (const agent of rows(entities, "Agent")) {
    const state = await client.readContract({ ...registry, functionName: "getAgent", args: [Number(agent.id)] });
    compare(ledger, `agent ${agent.id}`, agent, {
      operator: lower(state.operator),
      signer: lower(state.signer),
      reputation: state.reputation,
      active: state.active,
      exited: state.exited,
      misses: state.misses,
      asleep: state.asleep,
      service: state.service,
      contested: state.contested,
      agreed: state.agreed,
      skill: skillOf(state),
      commission: state.commission,
      announcedCommission: state.announcedCommission,
      raiseTime: state.raiseTime,
      bonded: state.bonded.assets,
      bondedShares: state.bonded.shares,
      joiningShares: state.joining,
      unbonding: state.unbonding.assets,
      unbondingShares: state.unbonding.shares,
    });
  }
  for (const position of rows(entities, "StakePosition")) {
    const agent = entities["Agent"]?.get(String(position["agent"]));
    const account = position["account"] as Hex;
    const args = [Number(position["agent"]), account] as const;
    const state = await client.readContract({ ...registry, functionName: "positionOf", args });
    const isCurrent = position["generation"] === agent?.["generation"];
    ledger.equal(`position ${position.id}.shares`, position["shares"], state.shares);
    ledger.equal(`position ${position.id}.joiningShares`, position["joiningShares"], state.joining);
    ledger.equal(
      `position ${position.id}.unbondingShares`,
      isCurrent ? position["unbondingShares"] : 0,
      state.unbondingShares,
    );
    ledger.equal(`position ${position.id}.unbondingEnd`, isCurrent ? position["unbondingEnd"] : 0, state.unbondingEnd);
    ledger.equal(`position ${position.id}.isOperator`, position["isOperator"], agent?.["operator"] === account);
  }
}

async function checkAccounts(
  entities: Entities,
  { client, deployed, blockNumber }: Chain,
  ledger: Ledger,
): Promise<void> {
  for (const account of rows(entities, "Account")) {
    const address = account.id as Hex;
    for (const [currency, field] of ["creditToken", "creditNative"].entries()) {
      const credit = await client.readContract({
        address: deployed.oracle,
        abi: decisionOracleAbi,
        functionName: "creditOf",
        args: [address, currency],
        blockNumber,
      });
      ledger.equal(`account ${account.id}.${field}`, account[field], credit);
    }
    const owed = await client.readContract({
      address: deployed.registry,
      abi: agentRegistryAbi,
      functionName: "owedTo",
      args: [address],
      blockNumber,
    });
    ledger.equal(`account ${account.id}.owed`, account["owed"], owed);
  }
}

async function checkSubscriptions(
  entities: Entities,
  { client, deployed, blockNumber }: Chain,
  ledger: Ledger,
): Promise<void> {
  const oracle = { address: deployed.oracle, abi: decisionOracleAbi, blockNumber } as const;
  for (const subscription of rows(entities, "RequestSubscription")) {
    const [owner, pendingOwner, tokenBalance, nativeBalance, requestCount] = await client.readContract({
      ...oracle,
      functionName: "subscriptionOf",
      args: [Number(subscription.id)],
    });
    compare(ledger, `subscription ${subscription.id}`, subscription, {
      owner: lower(owner),
      pendingOwner: /^0x0+$/.test(pendingOwner) ? null : lower(pendingOwner),
      tokenBalance,
      nativeBalance,
      requestCount,
    });
  }
  for (const consumer of rows(entities, "SubscriptionConsumer")) {
    const args = [Number(consumer["subscription"]), consumer["consumer"] as Hex] as const;
    const word = await client.readContract({ ...oracle, functionName: "allowanceOf", args });
    const { token, native } = unpackWord(LAYOUTS.balances, word);
    compare(ledger, `consumer ${consumer.id}`, consumer, { tokenAllowance: token, nativeAllowance: native });
  }
}

async function checkRequests(
  entities: Entities,
  { client, deployed, blockNumber }: Chain,
  ledger: Ledger,
): Promise<void> {
  for (const request of rows(entities, "Request")) {
    const [status, attempt, provisional, callbackPending, settled] = await client.readContract({
      address: deployed.oracle,
      abi: decisionOracleAbi,
      functionName: "statusOf",
      args: [BigInt(request.id)],
      blockNumber,
    });
    compare(ledger, `request ${request.id}`, request, { status: STATUSES[status], attempt, provisional, settled });
    // Nobody repeats the callback of a refund.
    const isPending = request["callback"] === "Failed" && request["status"] !== "Refunded";
    ledger.equal(`request ${request.id}.callback failed`, isPending, callbackPending);
  }
}

async function checkPrices(
  entities: Entities,
  { client, deployed, blockNumber }: Chain,
  ledger: Ledger,
): Promise<void> {
  const oracle = { address: deployed.oracle, abi: decisionOracleAbi, blockNumber } as const;
  for (const list of rows(entities, "PriceList")) {
    const args = [list["currency"] === "Token" ? 0 : 1, Number(list["version"])] as const;
    const prices = unpackPrices(await client.readContract({ ...oracle, functionName: "priceListOf", args }));
    const { unitPrice, gasRate, gasPriceCap, treasuryPpm } = prices;
    compare(ledger, `price list ${list.id}`, list, { unitPrice, gasRate, gasPriceCap, treasuryPpm });
  }
  const deployment = rows(entities, "Deployment")[0];
  for (const [currency, field] of ["tokenPaused", "nativePaused"].entries()) {
    const prices = unpackPrices(await client.readContract({ ...oracle, functionName: "pricesOf", args: [currency] }));
    ledger.equal(`deployment.${field}`, deployment?.[field], !prices.open);
  }
}
