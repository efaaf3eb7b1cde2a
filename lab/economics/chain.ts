// The chain of the study: a contract world with agents, requests whose draws and gas prices the study sets.
import { hexlify } from "ethers";
import type { ContractTransactionReceipt, ContractTransactionResponse, Overrides } from "ethers";
import type { HardhatEthers, HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";

import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { bitsOf } from "../../agents/core/encoding/words.ts";
import { ASSURANCES, type Attempt, type Outcome, type Ppm } from "../../agents/core/types.ts";
import type { Random } from "../../sim/random.ts";
import {
  ask,
  commitArgs,
  committedBy,
  decisionFor,
  draw,
  firstSeats,
  termsFor,
  type Asked,
  type Committed,
  type Drawn,
} from "../../test/support/contracts/course.ts";
import {
  Status,
  agentOf,
  fieldOf,
  packTerms,
  word,
  type SignedDecision,
  type Terms,
} from "../../test/support/contracts/typed-data.ts";
import {
  deployWorld,
  maxStake,
  minStake,
  mineTo,
  registerAgents,
  type World,
} from "../../test/support/contracts/world.ts";
import { attemptOf } from "../../test/support/core/committee.ts";
import { AGENTS, ASSURANCE, PRICES, SEATS_A_WEEK, WEEK_SECONDS, type Setting } from "./assumptions.ts";

const GWEI = 1e9;
/** As in contracts/types/Limits.sol (ADR 10). */
const PROVEN_SERVICE = 16;

export interface StudyChain {
  readonly world: World;
  /** The agent under study. It has most of the stake, so that it is soon drawn. */
  readonly studied: number;
  readonly relayer: HardhatEthersSigner;
  readonly appellant: HardhatEthersSigner;
  readonly latecomer: HardhatEthersSigner;
  /** Returns the chain to how it was when the study began. */
  restart(): Promise<void>;
}

export async function openStudyChain(ethers: HardhatEthers): Promise<StudyChain> {
  const world = await deployWorld(ethers, PRICES);
  const [, relayer, appellant, latecomer] = (await ethers.getSigners()) as [
    HardhatEthersSigner,
    HardhatEthersSigner,
    HardhatEthersSigner,
    HardhatEthersSigner,
  ];
  for (const { address } of [appellant, latecomer]) await world.token.mint(address, 10n ** 24n);
  await world.token.connect(appellant).approve(world.oracle.target, 10n ** 24n);
  await world.token.connect(latecomer).approve(world.registry.target, 10n ** 24n);
  await registerAgents(world, 1, { stake: maxStake });
  await registerAgents(world, AGENTS - 1, { stake: minStake });
  const people = { world, studied: 1, relayer, appellant, latecomer };
  // All agents are proven, and nobody's first credit, which costs more gas than all later ones, is in the figures.
  for (let service = 0; service < PROVEN_SERVICE; service++) {
    const drawn = await draw(world, await askFor(world, { committeeSize: AGENTS, appeals: 0 }, 1));
    const plenty = { ...(await priceGas(world, 1)), gasLimit: 16_000_000n };
    await commitBy(people, drawn, decisionFor(drawn), firstSeats(AGENTS), plenty);
  }
  await beginWeek(world);
  const { provider } = ethers;
  let kept = (await provider.send("evm_snapshot", [])) as string;
  const restart = async (): Promise<void> => {
    await provider.send("evm_revert", [kept]);
    kept = (await provider.send("evm_snapshot", [])) as string;
  };
  return { ...people, restart };
}

/** Falls are counted by weeks since 1970 (RE4): each life begins with one, so that the day of the run changes none. Half a draw later, no draw is at a bound. */
async function beginWeek({ ethers: { provider } }: World): Promise<void> {
  const { timestamp } = (await provider.getBlock("latest"))!;
  const next = (Math.floor(timestamp / WEEK_SECONDS) + 1) * WEEK_SECONDS;
  await provider.send("evm_setNextBlockTimestamp", [next + WEEK_SECONDS / SEATS_A_WEEK / 2]);
  await provider.send("evm_mine", []);
}

/** Gas price of the next transaction, all of it base fee, and a tip above it, in gwei. */
export async function priceGas({ ethers }: World, gwei: number, tip = 0): Promise<Overrides> {
  const [base, above] = [BigInt(Math.round(gwei * GWEI)), BigInt(Math.round(tip * GWEI))];
  await ethers.provider.send("hardhat_setNextBlockBaseFeePerGas", [`0x${base.toString(16)}`]);
  return { maxFeePerGas: base + above, maxPriorityFeePerGas: above };
}

export async function quoteOf(world: World, terms: Partial<Terms>): Promise<bigint> {
  return (await world.oracle.quote(packTerms(termsFor({ ...terms, fee: 0n })))) as bigint;
}

/** Asks for the quote times `fee`, with the setting's terms unless `terms` says otherwise. */
export async function askFor(
  world: World,
  { committeeSize, appeals }: Pick<Setting, "committeeSize" | "appeals">,
  gwei: number,
  terms: Partial<Terms> = {},
  fee = 1,
): Promise<Asked> {
  const all = { committeeSize, appeals, assurance: ASSURANCES.indexOf(ASSURANCE), ...terms };
  const quote = await quoteOf(world, all);
  const overrides = await priceGas(world, gwei);
  return ask(world, { ...all, fee: (quote * BigInt(Math.round(fee * 1000))) / 1000n }, undefined, (packed, question) =>
    world.oracle.request(1n, packed, question, overrides),
  );
}

/** Draws a committee by random numbers of the study; `suits` refuses those that it has no use for. */
export async function drawBy(
  world: World,
  asked: Asked,
  random: Random,
  suits: (agents: readonly number[]) => boolean = () => true,
): Promise<Drawn> {
  const { provider } = world.ethers;
  await mineTo(world, asked.seedBlock - 1n);
  for (;;) {
    const kept: unknown = await provider.send("evm_snapshot", []);
    await provider.send("hardhat_setPrevRandao", [hexlify(random.bytes(32))]);
    const drawn = await draw(world, asked);
    if (suits(agentsOf(drawn))) return drawn;
    await provider.send("evm_revert", [kept]);
  }
}

export const agentsOf = ({ committee }: Pick<Drawn, "committee">): readonly number[] =>
  committee.map((seat) => Number(agentOf(seat)));

/** Keys of seats are slow to make and say nothing here, so attempts of one size share them. */
const attempts = new Map<number, Attempt>();

/** The attempt as the core sees it. */
export function attemptFor({ committee }: Drawn): Attempt {
  const size = committee.length;
  const known = attempts.get(size) ?? attemptOf(size, { assurance: ASSURANCE });
  attempts.set(size, known);
  const seats = known.committee.map((seat, index) => ({
    ...seat,
    reputation: Number(fieldOf(LAYOUTS.seat, committee[index] as string, "reputation")) as Ppm,
  }));
  return { ...known, committee: seats };
}

/** What the committee signs for an outcome of the core. */
export function decisionOf(
  drawn: Drawn,
  { status, outcome, answer, confidence, shares, reputationChanges, answered, agreed }: Outcome,
): SignedDecision {
  return decisionFor(drawn, {
    status: status === "decided" ? Status.Decided : Status.Hung,
    outcome: word(BigInt(outcome)),
    answer: hexlify(new TextEncoder().encode(answer)),
    confidence,
    answered: bitsOf(answered),
    agreed: bitsOf(agreed),
    shares: hexlify(Uint8Array.from(shares)),
    reputationChanges: hexlify(Uint8Array.from(reputationChanges.flatMap(({ seat, steps }) => [seat, steps & 0xff]))),
  });
}

/** Commits by the relayer with the signatures of these seats. */
export async function commitBy(
  { world, relayer }: Pick<StudyChain, "world" | "relayer">,
  drawn: Drawn,
  decision: SignedDecision,
  signers: readonly number[],
  overrides: Overrides,
): Promise<Committed> {
  const args = commitArgs(world, drawn, decision, [...signers]);
  const sent: ContractTransactionResponse = await world.oracle.connect(relayer).commit(...args, overrides);
  return committedBy(world, drawn, decision, (await sent.wait()) as ContractTransactionReceipt);
}

export async function reputationOf(
  { registry }: World,
  agent: number,
): Promise<{ reputation: number; asleep: boolean }> {
  const { reputation, asleep } = await registry.getAgent(agent);
  return { reputation: Number(reputation) / 1e6, asleep: asleep === true };
}

export async function passTime({ ethers }: World, seconds: number): Promise<void> {
  await ethers.provider.send("evm_increaseTime", [seconds]);
}
