// A deployed system with registered agents on an in-process chain: what the contract tests and the gas figures start from.
import type { HardhatEthers, HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { TypedDataEncoder, concat, getCreateAddress, hexlify, keccak256, sha256, toUtf8Bytes } from "ethers";
import type {
  BaseContract,
  ContractMethod,
  ContractTransactionReceipt,
  ContractTransactionResponse,
  Signer,
  SigningKey,
  TypedDataDomain,
} from "ethers";

import { encodeHeader, type RawBlock } from "../../agents/adapters/chain/header.ts";
import {
  Status,
  addressOf,
  certify,
  decisionTypes,
  hashCommittee,
  hashRequest,
  packDecision,
  packTerms,
  possessionTypes,
  publicKeyOf,
  testKey,
  word,
} from "./typed-data.ts";
import type { RequestWitness, SignedDecision, Terms } from "./typed-data.ts";

/** A contract whose methods are known by name; arguments and results are not typed. */
type WithMethods<Name extends string> = Omit<BaseContract, "connect" | "target"> & {
  readonly target: string;
} & {
  readonly [name in Name]: ContractMethod;
} & { connect(signer: Signer): WithMethods<Name> };

export type Token = WithMethods<"mint" | "approve" | "balanceOf" | "nonces" | "transfer">;
export type Oracle = WithMethods<
  | "deposit"
  | "depositWithPermit"
  | "withdraw"
  | "balanceOf"
  | "request"
  | "draw"
  | "commit"
  | "retryCallback"
  | "creditPay"
  | "refund"
  | "tryMulticall"
  | "pauseRequests"
  | "unpauseRequests"
  | "requestsPaused"
  | "statusOf"
  | "requestCount"
  | "decisionDigest"
  | "messageDigest"
  | "registry"
  | "feeToken"
  | "supportedProtocols"
  | "minFee"
>;
export type Registry = WithMethods<
  | "register"
  | "registerWithPermit"
  | "bond"
  | "bondWithPermit"
  | "startUnbonding"
  | "withdrawStake"
  | "claim"
  | "slash"
  | "rotateSigner"
  | "setEndpoint"
  | "setModel"
  | "applyReputationChanges"
  | "draw"
  | "getAgent"
  | "positionOf"
  | "owedTo"
  | "agentOf"
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
export type Slasher = WithMethods<"submitMessages" | "submitDecisions" | "isConsumed" | "registry" | "oracle">;
export type Manager = WithMethods<"setTargetFunctionRole" | "grantRole" | "revokeRole" | "setTargetClosed">;

export interface World {
  readonly ethers: HardhatEthers;
  readonly deployer: HardhatEthersSigner;
  readonly token: Token;
  readonly manager: Manager;
  readonly registry: Registry;
  readonly oracle: Oracle;
  readonly slasher: Slasher;
  readonly domain: TypedDataDomain;
  readonly registryDomain: TypedDataDomain;
  /** Hot keys by signer address. */
  readonly keys: Map<string, SigningKey>;
}

export const pauserRole = 2n;
/** Who gets what is slashed. */
export const treasury = "0x0000000000000000000000000000000000007077";
export const minStake = 10n ** 18n;
export const maxStake = 16n * minStake;
export const unbondingDelay = 14 * 24 * 3600;
export const epochBlocks = 32n;
export const supportedProtocols = 0b11n;
export const minFee = 0n;
const funds = 10n ** 30n;

/** Deploys token, access manager, registry, oracle and slasher, and funds the deployer with tokens and a prepaid balance. */
export async function deployWorld(ethers: HardhatEthers): Promise<World> {
  const [deployer] = await ethers.getSigners();
  const deploy = async <Deployed>(name: string, args: unknown[] = []): Promise<Deployed> =>
    (await ethers.deployContract(name, args)) as unknown as Deployed;
  const token = await deploy<Token>("TestToken");
  const manager = await deploy<Manager>("ConclaveAccessManager", [deployer!.address]);
  const registry = await deploy<Registry>("AgentRegistry", [await registryTerms(ethers, token.target)]);
  const oracle = await deploy<Oracle>("DecisionOracle", [
    manager.target,
    registry.target,
    token.target,
    supportedProtocols,
    minFee,
  ]);
  const slasher = await deploy<Slasher>("Slasher", [registry.target]);
  const pausing = ["pauseRequests", "unpauseRequests"].map((name) => oracle.interface.getFunction(name)!.selector);
  await manager.setTargetFunctionRole(oracle.target, pausing, pauserRole);
  await token.mint(deployer!.address, funds);
  await token.approve(registry.target, funds);
  await token.approve(oracle.target, funds);
  await oracle.deposit(deployer!.address, 10n ** 24n);

  const { chainId } = await ethers.provider.getNetwork();
  const domain = { name: "Conclave", version: "1", chainId, verifyingContract: oracle.target };
  const registryDomain = { ...domain, name: "ConclaveRegistry", verifyingContract: registry.target };
  const contracts = { token, manager, registry, oracle, slasher } as const;
  return { ethers, deployer: deployer!, ...contracts, domain, registryDomain, keys: new Map() };
}

/** What a registry is deployed with, bound to the addresses of the deployer's next two contracts. */
export async function registryTerms(ethers: HardhatEthers, stakeToken: string) {
  const [deployer] = await ethers.getSigners();
  const nonce = await deployer!.getNonce();
  const [oracle, slasher] = [1, 2].map((offset) =>
    getCreateAddress({ from: deployer!.address, nonce: nonce + offset }),
  );
  return { stakeToken, minStake, maxStake, unbondingDelay, epochBlocks, oracle, slasher, treasury };
}

/** `Registration` of the interface for a test key. */
export function registration(world: World, operator: string, key: SigningKey, stake: bigint) {
  world.keys.set(addressOf(key), key);
  return {
    publicKey: publicKeyOf(key),
    possession: provePossession(world, operator, key),
    model: "test",
    endpoint: "/ip4/127.0.0.1/tcp/4001",
    stake,
  };
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

export interface Asked {
  readonly request: RequestWitness;
  readonly seedBlock: bigint;
  readonly receipt: ContractTransactionReceipt;
}

/** Anything that passes a question on to the oracle: the oracle itself, or a consumer's `ask`. */
type Ask = (terms: string, question: Uint8Array) => Promise<ContractTransactionResponse>;

export async function termsFor(world: World, overrides: Partial<Terms> = {}): Promise<Terms> {
  const now = (await world.ethers.provider.getBlock("latest"))!.timestamp;
  return {
    fee: 10n ** 18n,
    deadline: now + 3600,
    tolerance: 0,
    callbackGasLimit: 0,
    committeeSize: 4,
    assurance: 0,
    decimals: 0,
    options: 0,
    kind: 0,
    protocol: 1,
    ...overrides,
  };
}

/** Asks and reads the request back from its event. */
export async function ask(
  world: World,
  overrides: Partial<Terms> = {},
  question = "Is 17 a prime number?",
  by: Ask = (terms, bytes) => world.oracle.request(terms, bytes),
): Promise<Asked> {
  const bytes = toUtf8Bytes(question);
  const sent = await by(packTerms(await termsFor(world, overrides)), bytes);
  const receipt = (await sent.wait())!;
  const { args } = findEvent(world.oracle, receipt, "Requested");
  const request = {
    id: args["requestId"] as bigint,
    consumer: args["consumer"] as string,
    terms: word(args["terms"] as bigint),
    questionHash: keccak256(bytes),
  };
  return { request, seedBlock: args["seedBlock"] as bigint, receipt };
}

export interface Drawn extends Asked {
  readonly committee: readonly string[];
}

/** Mines past the seed block and draws; the receipt is that of the draw. */
export async function draw(world: World, asked: Asked): Promise<Drawn> {
  const header = await mineSeed(world, asked.seedBlock);
  const sent: ContractTransactionResponse = await world.oracle.draw(asked.request, asked.seedBlock, header);
  const receipt = (await sent.wait())!;
  const { args } = findEvent(world.oracle, receipt, "CommitteeDrawn");
  return { ...asked, receipt, committee: [...(args["committee"] as bigint[])].map(word) };
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

/** Mines until draws see everything done so far. */
export async function nextEpoch(world: World): Promise<void> {
  const block = BigInt(await world.ethers.provider.getBlockNumber());
  await mineTo(world, (block / epochBlocks + 1n) * epochBlocks);
}

/** A yes with equal shares. */
export function decisionFor(drawn: Drawn, overrides: Partial<SignedDecision> = {}): SignedDecision {
  return {
    attempt: 0,
    round: 0,
    status: Status.Decided,
    outcome: word(1n),
    answer: hexlify(toUtf8Bytes("yes")),
    confidence: 900_000,
    transcript: sha256(toUtf8Bytes("transcript")),
    reputationChanges: "0x",
    shares: concat(drawn.committee.map(() => "0x01")),
    ...overrides,
  };
}

export function digestOf(domain: TypedDataDomain, drawn: Drawn, decision: SignedDecision): string {
  return TypedDataEncoder.hash(domain, decisionTypes, {
    ...decision,
    requestHash: hashRequest(drawn.request),
    committeeHash: hashCommittee(drawn.committee),
  });
}

/** The fewest seats that are more than two thirds. */
export const quorum = (size: number): number => Math.floor((size * 2) / 3) + 1;

/** The first `count` seats; by default just more than two thirds. */
export const firstSeats = (size: number, count = quorum(size)): number[] => [...Array(count).keys()];

/** Packed as in calldata. */
export function certificateFor(
  world: World,
  drawn: Drawn,
  decision: SignedDecision,
  signers = firstSeats(drawn.committee.length),
  domain = world.domain,
): string {
  return certify(digestOf(domain, drawn, decision), drawn.committee, signers, (seat) =>
    keyOfSeat(world, drawn.committee[seat]!),
  );
}

/** The hot key of the seat's signer. */
export function keyOfSeat(world: World, seat: string): SigningKey {
  const signer = world.ethers.getAddress(`0x${seat.slice(-40)}`);
  const key = world.keys.get(signer);
  if (key === undefined) throw new Error(`No key for signer ${signer}`);
  return key;
}

export interface Settled {
  readonly receipt: ContractTransactionReceipt;
  /** As in its event. */
  readonly relay: string;
}

/** Commits with a valid certificate. */
export async function commit(world: World, drawn: Drawn, decision: SignedDecision): Promise<Settled> {
  const certificate = certificateFor(world, drawn, decision);
  const sent: ContractTransactionResponse = await world.oracle.commit(
    drawn.request,
    packDecision(decision),
    certificate,
  );
  const receipt = (await sent.wait())!;
  const { args } = findEvent(world.oracle, receipt, "DecisionCommitted");
  return { receipt, relay: word(args["relay"] as bigint) };
}

/** The first event of that name that the contract emitted in the transaction. */
export function findEvent(
  contract: Pick<Oracle, "interface" | "target">,
  receipt: ContractTransactionReceipt,
  name: string,
) {
  for (const log of receipt.logs) {
    if (log.address !== contract.target) continue;
    const parsed = contract.interface.parseLog(log);
    if (parsed?.name === name) return parsed;
  }
  throw new Error(`No event ${name} in ${receipt.hash}`);
}
