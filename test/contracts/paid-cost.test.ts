import { expect } from "chai";
import { hexlify, keccak256, toUtf8Bytes } from "ethers";
import hre from "hardhat";

import { appeal, ask, commit, decisionFor, draw, hung, recordOf, type Committed } from "../support/contracts/course.ts";
import { proveAgents } from "../support/contracts/prove.ts";
import type { Terms } from "../support/contracts/typed-data.ts";
import { deployWorld, registerAgents, type World } from "../support/contracts/world.ts";
import { paidGas, payGasOf, relayGasOf, settleGasOf } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const gwei = 10n ** 9n;
const KIND_TEXT = 3;
const isProduction = hre.globalOptions.buildProfile === "production";

interface Shape {
  readonly committeeSize: number;
  readonly appeals: number;
  readonly retries: number;
}

/** The gas that a transaction uses, and for which its sender is paid. */
interface Call {
  readonly name: string;
  readonly used: bigint;
  readonly paid: bigint;
}

/** Makes so many proven agents. All who are paid have a credit already: a first one is its owner's cost (SE13). */
async function steady(agents: number): Promise<World> {
  const prices = { unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: 10n * gwei, treasuryPpm: 50_000n };
  const world = await deployWorld(ethers, { token: prices });
  await registerAgents(world, agents);
  await proveAgents(world, 1, agents);
  await play(world, { committeeSize: 4, appeals: 1, retries: 0 });
  return world;
}

const plenty = (): Promise<World> => steady(200);

/** Plays the dearest course: every committee agrees, so all appeals are lost and all seats are paid; then the last ones hang. */
async function play(world: World, { committeeSize, appeals, retries }: Shape): Promise<readonly Call[]> {
  const calls: Call[] = [];
  let past = 0;
  let running = await ask(world, { committeeSize, appeals, retries });
  for (let index = 0; index <= appeals + retries; index++) {
    const drawn = await draw(world, running);
    const seats = drawn.committee.length;
    const isHung = index >= appeals && index < appeals + retries;
    const committed = await commit(world, drawn, decisionFor(drawn, isHung ? hung : {}), { gasPrice: gwei });
    calls.push({ name: `${seats} after ${past}`, used: committed.receipt.gasUsed, paid: relayGasOf(seats, past) });
    past += seats;
    if (index === appeals + retries) calls.push(await settle(world, committed, past));
    else running = committed.reopened ?? (await appeal(world, committed));
  }
  return calls;
}

async function settle(world: World, committed: Committed, seats: number): Promise<Call> {
  await networkHelpers.setNextBlockBaseFeePerGas(gwei);
  const sent = await world.settlement.settle(...recordOf(committed), { gasPrice: gwei });
  const used = (await sent.wait())!.gasUsed as bigint;
  const rounds = committed.rounds.length;
  return { name: `settling ${seats} seats of ${rounds} rounds`, used, paid: settleGasOf(rounds) + payGasOf(seats) };
}

async function commitOnce(world: World, terms: Partial<Terms>, length?: number): Promise<bigint> {
  const drawn = await draw(world, await ask(world, terms));
  const answer = length === undefined ? undefined : hexlify(toUtf8Bytes("x".repeat(length)));
  const decision = decisionFor(drawn, answer === undefined ? {} : { answer, outcome: keccak256(answer) });
  return (await commit(world, drawn, decision, { gasPrice: gwei })).receipt.gasUsed;
}

/** The constants are chosen for the build that is deployed. The one for tests takes up to a sixteenth more. */
const isPaid = ({ name, used, paid }: Call): void => {
  const most = isProduction ? paid : (paid * 17n) / 16n;
  expect(used <= most, `${name}: ${used} gas, paid ${paid}`).to.equal(true);
};

describe("SE13: who commits or settles uses no more gas than it is paid for", () => {
  for (const committeeSize of [4, 7, 13, 31, 64])
    it(`commit that settles ${committeeSize} seats`, async function () {
      const world = await networkHelpers.loadFixture(plenty);
      const used = await commitOnce(world, { committeeSize });
      isPaid({ name: "commit", used, paid: relayGasOf(committeeSize) + payGasOf(committeeSize) });
    });

  it("commit of a text: each byte more", async function () {
    const world = await networkHelpers.loadFixture(plenty);
    const [short, long] = [1, 1_024];
    const base = await commitOnce(world, { kind: KIND_TEXT }, short);
    const used = await commitOnce(world, { kind: KIND_TEXT }, long);
    isPaid({ name: "the bytes", used: used - base, paid: BigInt(long - short) * paidGas.answerByte });
  });

  for (const shape of [
    { committeeSize: 4, appeals: 1, retries: 0 },
    { committeeSize: 4, appeals: 0, retries: 3 },
    { committeeSize: 4, appeals: 3, retries: 0 },
    { committeeSize: 13, appeals: 2, retries: 0 },
    { committeeSize: 31, appeals: 1, retries: 1 },
    { committeeSize: 53, appeals: 0, retries: 2 },
  ]) {
    const { committeeSize, appeals, retries } = shape;
    const name = `${committeeSize} seats, ${appeals} lost appeals and ${retries} hung retries`;

    it(`${name}: each commit and the settlement`, async function () {
      const world = await networkHelpers.loadFixture(plenty);
      for (const call of await play(world, shape)) isPaid(call);
    });

    it(`${name}, with no more agents than the request needs`, async function () {
      const needed = Array.from({ length: appeals + 1 }, (_, level) => 2 ** level * (committeeSize + 1) - 1);
      // The course that makes everybody's first credit takes thirteen.
      const world = await steady(
        Math.max(
          13,
          needed.reduce((sum, size) => sum + size, 0),
        ),
      );
      for (const call of await play(world, shape)) isPaid(call);
    });
  }
});
