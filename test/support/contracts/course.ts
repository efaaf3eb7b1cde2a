// The course of a request on a deployed world, from asking to settling, as the contract tests and the gas figures take it.
import { TypedDataEncoder, ZeroAddress, concat, hexlify, keccak256, sha256, toUtf8Bytes } from "ethers";
import type {
  ContractTransactionReceipt,
  ContractTransactionResponse,
  LogDescription,
  Overrides,
  SigningKey,
  TypedDataDomain,
} from "ethers";

import { LAYOUTS } from "../../../agents/core/encoding/layouts.ts";
import {
  Currency,
  Status,
  certify,
  decisionTypes,
  hashCommittee,
  hashRequest,
  fieldOf,
  packDecision,
  packTerms,
  unpackRound,
  word,
  zeroTerms,
} from "./typed-data.ts";
import type { RequestWitness, SignedDecision, Terms } from "./typed-data.ts";
import { findEvent, findEvents, mineSeed, subscription } from "./world.ts";
import type { Oracle, World } from "./world.ts";

/** `DecidedRound` of contracts/types/Types.sol, with the decision as it was signed. */
export interface DecidedRound {
  readonly round: string;
  readonly committee: readonly string[];
  readonly decision: SignedDecision;
  readonly relay: string;
  readonly appellant: string;
}

/** A request that waits for its committee. */
export interface Asked {
  readonly request: RequestWitness;
  readonly round: string;
  readonly attempt: number;
  readonly seedBlock: bigint;
  readonly past: readonly DecidedRound[];
  /** Receipt of the transaction that asked or reopened. */
  readonly receipt: ContractTransactionReceipt;
}

/** A request whose committee is known. */
export interface Drawn extends Asked {
  readonly committee: readonly string[];
  /** Header of the seed block in RLP. */
  readonly header: string;
}

export interface Committed {
  readonly request: RequestWitness;
  /** Rounds from the first to this one, which is the one to appeal against if it is provisional. */
  readonly rounds: readonly DecidedRound[];
  /** Relay word of the event. */
  readonly relay: string;
  readonly receipt: ContractTransactionReceipt;
  /** The next attempt, if this one hung and is retried. */
  readonly reopened: Asked | null;
}

/** Anything that passes a question on to the oracle: the oracle itself, or a consumer's `ask`. */
type Ask = (terms: string, question: Uint8Array) => Promise<ContractTransactionResponse>;

export const termsFor = (overrides: Partial<Terms> = {}): Terms => ({
  ...zeroTerms,
  fee: 10n ** 18n,
  duration: 3600,
  committeeSize: 4,
  protocol: 1,
  ...overrides,
});

/** Asks from the world's subscription, unless `by` does otherwise, and reads the request back from its event. */
export async function ask(
  world: Pick<World, "oracle">,
  overrides: Partial<Terms> = {},
  question = "Is 17 a prime number?",
  by: Ask = (terms, bytes) => world.oracle.request(subscription, terms, bytes),
): Promise<Asked> {
  const bytes = toUtf8Bytes(question);
  const sent = await by(packTerms(termsFor(overrides)), bytes);
  const receipt = (await sent.wait())!;
  const { args } = findEvent(world.oracle, receipt, "Requested");
  const request = {
    id: args["requestId"] as bigint,
    consumer: args["consumer"] as string,
    terms: word(args["terms"] as bigint),
    questionHash: keccak256(bytes),
  };
  const [round, seedBlock] = [word(args["round"] as bigint), args["seedBlock"] as bigint];
  return { request, round, attempt: 0, seedBlock, past: [], receipt };
}

/** Past rounds in the form that a seed takes. */
export const pastOf = ({ request, past }: Asked) =>
  past.map(({ decision, ...round }) => ({
    ...round,
    structHash: structHashOf(request, round.committee, decision),
  }));

/** `Seed` of contracts/types/Types.sol. */
export const seedOf = (asked: Asked, header: string) => ({ seedBlock: asked.seedBlock, header, past: pastOf(asked) });

/** Mines past the seed block and reads the committee. */
export async function draw(world: World, asked: Asked): Promise<Drawn> {
  const header = await mineSeed(world, asked.seedBlock);
  const seats: bigint[] = await world.settlement.committeeOf(asked.request, asked.round, seedOf(asked, header));
  return { ...asked, header, committee: [...seats].map(word) };
}

/** Decision for yes with equal shares. */
export function decisionFor(drawn: Drawn, overrides: Partial<SignedDecision> = {}): SignedDecision {
  return {
    attempt: drawn.attempt,
    round: 0,
    status: Status.Decided,
    outcome: word(1n),
    answer: hexlify(toUtf8Bytes("yes")),
    confidence: 900_000,
    answered: 0n,
    agreed: 0n,
    transcript: sha256(toUtf8Bytes("transcript")),
    reputationChanges: "0x",
    shares: concat(drawn.committee.map(() => "0x1e")),
    ...overrides,
  };
}

/** Fields of the decision that a committee without consensus signs. */
export const hung = { status: Status.Hung, outcome: word(0n), answer: "0x", confidence: 0 } as const;

/** Fields of the decisions that there is no answer. */
export const unanswerable = { status: Status.Unanswerable, outcome: word(2n ** 256n - 1n), answer: "0x" } as const;
export const tooEarly = { status: Status.TooEarly, outcome: word(2n ** 256n - 2n), answer: "0x" } as const;

/** Fields of a decision for no. */
export const no = { outcome: word(0n), answer: hexlify(toUtf8Bytes("no")) } as const;

const messageOf = (request: RequestWitness, committee: readonly string[], decision: SignedDecision) => ({
  ...decision,
  requestHash: hashRequest(request),
  committeeHash: hashCommittee(committee),
});

export const structHashOf = (request: RequestWitness, committee: readonly string[], decision: SignedDecision): string =>
  TypedDataEncoder.hashStruct("Decision", decisionTypes, messageOf(request, committee, decision));

export const digestOf = (domain: TypedDataDomain, drawn: Drawn, decision: SignedDecision): string =>
  TypedDataEncoder.hash(domain, decisionTypes, messageOf(drawn.request, drawn.committee, decision));

/** The fewest seats that are more than two thirds. */
export const quorum = (size: number): number => Math.floor((size * 2) / 3) + 1;

/** The first `count` seats; by default the smallest quorum. */
export const firstSeats = (size: number, count = quorum(size)): number[] => [...Array(count).keys()];

/** Certificate packed as in calldata. */
export function certificateFor(
  world: World,
  drawn: Drawn,
  decision: SignedDecision,
  signers = firstSeats(drawn.committee.length),
  domain = world.domain,
): string {
  return certify(digestOf(domain, drawn, decision), signers, (seat) => keyOfSeat(world, drawn.committee[seat]!));
}

/** The hot key of the seat's signer. */
export function keyOfSeat(world: World, seat: string): SigningKey {
  const signer = world.ethers.getAddress(`0x${seat.slice(-40)}`);
  const key = world.keys.get(signer);
  if (key === undefined) throw new Error(`No key for signer ${signer}`);
  return key;
}

/** The arguments of `commit`, with a valid certificate. */
export const commitArgs = (world: World, drawn: Drawn, decision: SignedDecision, signers?: number[]) =>
  [
    drawn.request,
    drawn.round,
    seedOf(drawn, drawn.header),
    certificateFor(world, drawn, decision, signers),
    packDecision(decision),
  ] as const;

/**
 * Overrides of the next transaction that set its gas price as base fee, because only base fee and a tip are paid back
 * (SE13).
 */
export async function priceGas({ ethers }: World, gasPrice: bigint): Promise<{ readonly gasPrice: bigint }> {
  await ethers.provider.send("hardhat_setNextBlockBaseFeePerGas", [`0x${gasPrice.toString(16)}`]);
  return { gasPrice };
}

/** Commits with a valid certificate. */
export async function commit(
  world: World,
  drawn: Drawn,
  decision = decisionFor(drawn),
  overrides: Overrides = {},
): Promise<Committed> {
  const args = commitArgs(world, drawn, decision);
  const { gasPrice } = overrides;
  const priced = typeof gasPrice === "bigint" ? await priceGas(world, gasPrice) : {};
  const sent: ContractTransactionResponse = await world.oracle.commit(...args, { ...priced, ...overrides });
  return committedBy(world, drawn, decision, (await sent.wait())!);
}

/** State of the request after a commit, read from the receipt, which may hold commits of other requests. */
export function committedBy(
  world: World,
  drawn: Drawn,
  decision: SignedDecision,
  receipt: ContractTransactionReceipt,
): Committed {
  const { request, committee } = drawn;
  const eventsOf = (name: string) =>
    findEvents(world.oracle, receipt, name).filter(({ args }) => args["requestId"] === request.id);
  const [committed] = eventsOf("DecisionCommitted");
  if (committed === undefined) throw new Error(`No decision of request ${request.id} in ${receipt.hash}`);
  const relay = word(committed.args["relay"] as bigint);
  const [provisional] = eventsOf("DecisionProvisional");
  const round = provisional === undefined ? drawn.round : word(provisional.args["round"] as bigint);
  const rounds = [...drawn.past, { round, committee, decision, relay, appellant: ZeroAddress }];
  const [reopened] = eventsOf("RequestReopened");
  return {
    request,
    rounds,
    relay,
    receipt,
    reopened: reopened === undefined ? null : reopenedAs(reopened, request, rounds, receipt),
  };
}

/** Waits for the committee and commits. */
export async function decide(
  world: World,
  asked: Asked,
  overrides: Partial<SignedDecision> = {},
  transaction: Overrides = {},
): Promise<Committed> {
  const drawn = await draw(world, asked);
  return commit(world, drawn, decisionFor(drawn, overrides), transaction);
}

/** The attempt that a transaction called. */
export function reopenedBy(
  world: World,
  request: RequestWitness,
  past: readonly DecidedRound[],
  receipt: ContractTransactionReceipt,
): Asked {
  return reopenedAs(findEvent(world.oracle, receipt, "RequestReopened"), request, past, receipt);
}

/** The attempt of an event `RequestReopened`. */
function reopenedAs(
  { args }: LogDescription,
  request: RequestWitness,
  past: readonly DecidedRound[],
  receipt: ContractTransactionReceipt,
): Asked {
  return {
    request,
    round: word(args["round"] as bigint),
    attempt: Number(args["attempt"]),
    seedBlock: args["seedBlock"] as bigint,
    past,
    receipt,
  };
}

/** The arguments of `appeal`, `finalize` and `retryCallback`. */
export function latestOf({ request, rounds }: Committed) {
  const { round, committee, decision, relay } = rounds.at(-1)!;
  return [request, round, hashCommittee(committee), packDecision(decision), relay] as const;
}

/** Decided round packed as in calldata. */
export const packDecided = ({ decision, ...round }: DecidedRound) => ({ ...round, decision: packDecision(decision) });

/** The arguments of `settle`. */
export const recordOf = ({ request, rounds }: Committed) => [request, rounds.map(packDecided)] as const;

export const bondOf = ({ settlement }: World, { request, rounds }: Committed): Promise<bigint> =>
  settlement.bondOf(request.id, request.terms, rounds.at(-1)!.round) as Promise<bigint>;

/** Appeals with the bond that is due. If the bond is in tokens, the caller has approved it before. */
export async function appeal(
  world: World,
  committed: Committed,
  oracle: Oracle = world.oracle,
  overrides: Overrides = {},
): Promise<Asked> {
  const { request, rounds } = committed;
  const isNative = fieldOf(LAYOUTS.requestTerms, request.terms, "currency") === BigInt(Currency.Native);
  const value = isNative ? await bondOf(world, committed) : 0n;
  const sent: ContractTransactionResponse = await oracle.appeal(...latestOf(committed), { value, ...overrides });
  const receipt = (await sent.wait())!;
  const appellant = findEvent(world.oracle, receipt, "RequestReopened").args["appellant"] as string;
  const past = [...rounds.slice(0, -1), { ...rounds.at(-1)!, appellant }];
  return reopenedBy(world, request, past, receipt);
}

/** The arguments of `replace` and `refund`. */
export const refundArgs = (running: Asked) => [running.request, running.round, running.seedBlock] as const;

/** Calls another committee for one that did not answer in time. */
export async function replace(world: World, running: Asked): Promise<Asked> {
  await passDeadline(world, running.round);
  const sent: ContractTransactionResponse = await world.oracle.replace(...refundArgs(running));
  return reopenedBy(world, running.request, running.past, (await sent.wait())!);
}

/** `HashedRound` of contracts/types/Types.sol. */
export const hashedRound = (
  request: RequestWitness,
  { committee, decision, round, relay, appellant }: DecidedRound,
) => ({
  round,
  committeeHash: hashCommittee(committee),
  structHash: structHashOf(request, committee, decision),
  relay,
  appellant,
});

/** The arguments of `fallBack`. */
export const fallBackArgs = (running: Asked) =>
  [...refundArgs(running), hashedRound(running.request, running.past.at(-1)!)] as const;

/** Record of a request after an attempt was given up. */
export const givenUp = (running: Asked): Committed => ({
  request: running.request,
  rounds: running.past,
  relay: running.past.at(-1)!.relay,
  receipt: running.receipt,
  reopened: null,
});

/** Moves the clock beyond the end of the running period, if it is not over. */
export async function passDeadline(world: World, round: string): Promise<void> {
  const deadline = unpackRound(round).deadline;
  const { timestamp } = (await world.ethers.provider.getBlock("latest"))!;
  if (timestamp > deadline) return;
  await world.ethers.provider.send("evm_setNextBlockTimestamp", [deadline + 1]);
  await world.ethers.provider.send("hardhat_mine", ["0x1"]);
}
