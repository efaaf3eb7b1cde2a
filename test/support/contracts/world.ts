// A deployed system with registered agents on an in-process chain: what the contract tests and the gas figures start from.
import type { HardhatEthers, HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { TypedDataEncoder, getCreateAddress } from "ethers";
import type {
  BaseContract,
  ContractMethod,
  ContractTransactionReceipt,
  LogDescription,
  Signer,
  SigningKey,
  TypedDataDomain,
} from "ethers";

import { LAYOUTS } from "../../../agents/core/encoding/layouts.ts";
import { packWord } from "../../../agents/core/encoding/words.ts";
import { encodeHeader, type RawBlock } from "../../../agents/adapters/chain/header.ts";
import { addressOf, possessionTypes, publicKeyOf, testKey } from "./typed-data.ts";

/** A contract whose methods are known by name; arguments and results are not typed. */
type WithMethods<Name extends string> = Omit<BaseContract, "connect" | "target"> & {
  readonly target: string;
} & {
  readonly [name in Name]: ContractMethod;
} & { connect(signer: Signer): WithMethods<Name> };

export type Token = WithMethods<"mint" | "approve" | "balanceOf" | "totalSupply" | "nonces" | "transfer">;
export type Oracle = WithMethods<
  | "createSubscription"
  | "setConsumer"
  | "transferSubscription"
  | "acceptSubscription"
  | "fund"
  | "fundNative"
  | "withdrawFunds"
  | "withdraw"
  | "setPrices"
  | "pauseRequests"
  | "unpauseRequests"
  | "quote"
  | "pricesOf"
  | "priceListOf"
  | "subscriptionOf"
  | "allowanceOf"
  | "creditOf"
  | "feeToken"
  | "treasury"
  | "request"
  | "commit"
  | "appeal"
  | "finalize"
  | "retryCallback"
  | "payOut"
  | "tryMulticall"
  | "replace"
  | "refund"
  | "cancel"
  | "fallBack"
  | "statusOf"
  | "stateOf"
  | "registry"
  | "settlement"
  | "supportedProtocols"
>;
export type Settlement = WithMethods<
  "settle" | "tryMulticall" | "bondOf" | "committeeOf" | "outcomeOf" | "storeOutcome" | "storedOutcome" | "oracle"
>;
export type Registry = WithMethods<
  | "register"
  | "registerWithPermit"
  | "bond"
  | "bondWithPermit"
  | "startEarning"
  | "startUnbonding"
  | "withdrawStake"
  | "claim"
  | "claimRewards"
  | "setCommission"
  | "raiseCommission"
  | "slash"
  | "slashOverturned"
  | "rewardAppellant"
  | "rotateSigner"
  | "setEndpoint"
  | "setModel"
  | "wake"
  | "transferOperator"
  | "acceptOperator"
  | "recordServices"
  | "committee"
  | "getAgent"
  | "positionOf"
  | "owedTo"
  | "rewardsOf"
  | "keyOf"
  | "operatorOf"
  | "activeCount"
  | "drawableCount"
  | "agentCount"
  | "minStake"
  | "maxStake"
  | "unbondingDelay"
  | "epochBlocks"
  | "stakeToken"
  | "oracle"
  | "slasher"
  | "treasury"
>;
export type Slasher = WithMethods<
  "commitEvidence" | "submitMessages" | "submitDecisions" | "submitOverturned" | "isConsumed" | "registry" | "oracle"
>;
export type Manager = WithMethods<
  "setTargetFunctionRole" | "grantRole" | "renounceRole" | "revokeRole" | "setTargetClosed" | "schedule" | "execute"
>;

export interface World {
  readonly ethers: HardhatEthers;
  readonly deployer: HardhatEthersSigner;
  readonly token: Token;
  readonly manager: Manager;
  readonly registry: Registry;
  readonly oracle: Oracle;
  readonly settlement: Settlement;
  readonly slasher: Slasher;
  readonly domain: TypedDataDomain;
  readonly registryDomain: TypedDataDomain;
  /** Hot keys by signer address. */
  readonly keys: Map<string, SigningKey>;
}

export const pauserRole = 2n;
/** Account that gets the slashed stake. */
export const treasury = "0x0000000000000000000000000000000000007077";
export const minStake = 10n ** 18n;
export const maxStake = 16n * minStake;
export const unbondingDelay = 16 * 24 * 3600;
export const joiningDelay = 14 * 24 * 3600;
export const epochBlocks = 32n;
export const supportedProtocols = 0b11n;
/** An allowance that requests do not lower. */
export const anyAmount = (1n << 104n) - 1n;
/** Id of the deployer's subscription, from which the deployer may ask. */
export const subscription = 1n;
export const subscriptionFunds = 10n ** 24n;
export const subscriptionCoins = 10n ** 20n;
const funds = 10n ** 30n;

/** `PriceTerms` of contracts/types/Types.sol. */
export interface PriceTerms {
  readonly unitPrice: bigint;
  readonly gasRate: bigint;
  readonly gasPriceCap: bigint;
  readonly treasuryPpm: bigint;
}

/** Prices under which everything is free and only the seats are paid. */
export const freeTokens: PriceTerms = { unitPrice: 0n, gasRate: 0n, gasPriceCap: 0n, treasuryPpm: 0n };
export const freeCoins: PriceTerms = { ...freeTokens, gasRate: 10n ** 18n };

/** Deploys token, access manager, registry, oracle and slasher, and funds the deployer with tokens and a subscription. */
export async function deployWorld(
  ethers: HardhatEthers,
  prices: { readonly token?: PriceTerms; readonly native?: PriceTerms } = {},
  tokenContract = "TestToken",
  blocks = epochBlocks,
): Promise<World> {
  const [deployer] = await ethers.getSigners();
  const deploy = async <Deployed>(name: string, args: unknown[] = []): Promise<Deployed> =>
    (await ethers.deployContract(name, args)) as unknown as Deployed;
  const token = await deploy<Token>(tokenContract);
  const manager = await deploy<Manager>("ConclaveAccessManager", [deployer!.address]);
  const registry = await deployRegistry(ethers, token.target, blocks);
  const oracle = await deploy<Oracle>("DecisionOracle", [
    manager.target,
    registry.target,
    token.target,
    supportedProtocols,
    prices.token ?? freeTokens,
    prices.native ?? freeCoins,
  ]);
  const slasher = await deploy<Slasher>("Slasher", [registry.target]);
  const settlement = (await ethers.getContractAt("Settlement", await oracle.settlement())) as unknown as Settlement;
  const pausing = ["pauseRequests", "unpauseRequests"].map((name) => oracle.interface.getFunction(name)!.selector);
  await manager.setTargetFunctionRole(oracle.target, pausing, pauserRole);
  await token.mint(deployer!.address, funds);
  await token.approve(registry.target, funds);
  await token.approve(oracle.target, funds);
  await oracle.createSubscription();
  await oracle.setConsumer(subscription, deployer!.address, anyAmount, anyAmount);
  await oracle.fund(subscription, subscriptionFunds);
  await oracle.fundNative(subscription, { value: subscriptionCoins });

  const { chainId } = await ethers.provider.getNetwork();
  const domain = { name: "Conclave", version: "1", chainId, verifyingContract: oracle.target };
  const registryDomain = { ...domain, name: "ConclaveRegistry", verifyingContract: registry.target };
  const contracts = { token, manager, registry, oracle, settlement, slasher } as const;
  return { ethers, deployer: deployer!, ...contracts, domain, registryDomain, keys: new Map() };
}

/** Deploys a registry bound to the oracle that the deployer deploys next, and to the slasher after it. */
export async function deployRegistry(
  ethers: HardhatEthers,
  stakeToken: string,
  blocks = epochBlocks,
): Promise<Registry> {
  const terms = { ...(await registryTerms(ethers, stakeToken)), epochBlocks: blocks };
  return (await ethers.deployContract("AgentRegistry", [terms])) as unknown as Registry;
}

/** Arguments of a registry's constructor, with the addresses of the deployer's next two contracts. */
export async function registryTerms(ethers: HardhatEthers, stakeToken: string) {
  const [deployer] = await ethers.getSigners();
  const nonce = await deployer!.getNonce();
  const [oracle, slasher] = [1, 2].map((offset) =>
    getCreateAddress({ from: deployer!.address, nonce: nonce + offset }),
  );
  return { stakeToken, minStake, maxStake, unbondingDelay, epochBlocks, oracle, slasher, treasury };
}

/** `Registration` of the interface for a test key. */
export function registration(world: World, operator: string, key: SigningKey, stake: bigint, commission = 0n) {
  world.keys.set(addressOf(key), key);
  return {
    publicKey: publicKeyOf(key),
    possession: provePossession(world, operator, key),
    model: "test",
    endpoint: "/ip4/127.0.0.1/tcp/4001",
    stake,
    commission,
  };
}

/** A `Service` with these reputation steps and this pay for each of these agents. */
export function servicesOf(agentIds: readonly number[], steps: number, earned = 0n): readonly bigint[] {
  return agentIds.map((agentId) =>
    packWord(LAYOUTS.service, {
      agentId: BigInt(agentId),
      steps: BigInt.asUintN(8, BigInt(steps)),
      missed: 0n,
      answered: 0n,
      agreed: 0n,
      earned,
    }),
  );
}

export function provePossession(world: World, operator: string, key: SigningKey): string {
  const digest = TypedDataEncoder.hash(world.registryDomain, possessionTypes, {
    operator,
    publicKey: publicKeyOf(key),
  });
  return key.sign(digest).serialized;
}

/** Registers `count` agents of `operator` with keys derived from their numbers, and mines until they can be drawn. */
export async function registerAgents(
  world: World,
  count: number,
  options: { operator?: HardhatEthersSigner; stake?: bigint; label?: string } = {},
): Promise<void> {
  const { operator = world.deployer, stake = maxStake, label = "agent" } = options;
  const registry = world.registry.connect(operator);
  const first = Number(await registry.agentCount());
  for (let index = 0; index < count; index++) {
    const key = testKey(`${label} ${first + index}`);
    await registry.register(registration(world, operator.address, key, stake));
  }
  await nextEpoch(world);
}

/** Mines past the seed block, and resolves with its header in RLP. */
export async function mineSeed(world: World, seedBlock: bigint): Promise<string> {
  // Only the first and the last block of one hardhat_mine have a prevrandao.
  for (const block of [seedBlock, seedBlock + 1n]) await mineTo(world, block);
  const block: unknown = await world.ethers.provider.send("eth_getBlockByNumber", [
    `0x${seedBlock.toString(16)}`,
    false,
  ]);
  return encodeHeader(block as RawBlock);
}

export async function mineTo(world: World, block: bigint): Promise<void> {
  const missing = block - BigInt(await world.ethers.provider.getBlockNumber());
  if (missing > 0n) await world.ethers.provider.send("hardhat_mine", [`0x${missing.toString(16)}`]);
}

/** The committee that a seed draws in the running epoch. */
export async function committeeNow(world: World, seed: string, size: number): Promise<readonly bigint[]> {
  const block = BigInt(await world.ethers.provider.getBlockNumber());
  return [...((await world.registry.committee(seed, block / epochBlocks, size, [])) as readonly bigint[])];
}

/** Mines until draws see everything done so far. */
export async function nextEpoch(world: World): Promise<void> {
  const block = BigInt(await world.ethers.provider.getBlockNumber());
  await mineTo(world, (block / epochBlocks + 1n) * epochBlocks);
}

type Emitter = Pick<BaseContract, "interface" | "target">;

/** The events of that name that the contract emitted in the transaction. */
export function findEvents(
  contract: Emitter,
  receipt: ContractTransactionReceipt,
  name: string,
): readonly LogDescription[] {
  return receipt.logs.flatMap((log) => {
    const parsed = log.address === contract.target ? contract.interface.parseLog(log) : null;
    return parsed?.name === name ? [parsed] : [];
  });
}

/** The first event of that name; fails without one. */
export function findEvent(contract: Emitter, receipt: ContractTransactionReceipt, name: string): LogDescription {
  const [event] = findEvents(contract, receipt, name);
  if (event === undefined) throw new Error(`No event ${name} in ${receipt.hash}`);
  return event;
}
