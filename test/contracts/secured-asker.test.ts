import { expect } from "chai";
import hre from "hardhat";
import { hexlify, type ContractTransactionReceipt, type ContractTransactionResponse } from "ethers";

import {
  appeal,
  ask,
  commitArgs,
  committedBy,
  decisionFor,
  draw,
  latestOf,
  no,
  passDeadline,
  priceGas,
  recordOf,
  termsFor,
  type Asked,
  type Committed,
} from "../support/contracts/course.ts";
import { agentOf, packTerms, type SignedDecision } from "../support/contracts/typed-data.ts";
import { deployWorld, maxStake, registerAgents, type World } from "../support/contracts/world.ts";

const { ethers } = await hre.network.create();

const gwei = 10n ** 9n;
/** The prices of docs/deploying.md, if a token of this world stands for 100 (minStake is 100 there). */
const list = { unitPrice: 250_000_000_000_000n, gasRate: 30n * 10n ** 18n, gasPriceCap: 10n * gwei, treasuryPpm: 0n };
const yes = {};

/** The shares of pay.md (PY3): of a seat that was right and sure, of one that was right and does not say how sure it is, and of a wrong one. */
const SURE = 240;
const MEDIUM = 30;
const WRONG = 0;

/**
 * What an asker gains that appeals for itself until two larger committees agree; each committee answers as told.
 * @param held seats of each committee that are the asker's: they are sure, and the others are not
 * @param wrong how many of the others' first answers are wrong, of each committee
 */
async function gainOf(
  answers: readonly Partial<SignedDecision>[],
  gasPrice: bigint,
  held: readonly number[] = [],
  wrong: readonly number[] = [],
): Promise<bigint> {
  const world: World = await deployWorld(ethers, { token: list });
  const { oracle, token, registry, settlement, deployer } = world;
  const asker = (await ethers.getSigners())[5]!;
  // So many that no agent sits twice (DR4).
  await registerAgents(world, 104, { stake: maxStake });
  await token.mint(asker.address, 10n ** 24n);
  await token.connect(asker).approve(oracle.target, 10n ** 24n);
  const before = (await token.balanceOf(asker.address)) as bigint;
  const own = oracle.connect(asker);
  let gas = 0n;
  const pay = ({ gasUsed }: ContractTransactionReceipt): void => void (gas += gasUsed);

  const terms = { security: 1, assurance: 1, appeals: 2 } as const;
  const fee = (await oracle.quote(packTerms(termsFor(terms)))) as bigint;
  let asked: Asked = await ask(world, { ...terms, fee }, "Heads or tails?", (packed, bytes) =>
    own.request(0, packed, bytes),
  );
  pay(asked.receipt);
  let committed: Committed | null = null;
  const agents: number[] = [];
  for (const [index, answer] of answers.entries()) {
    if (committed !== null) {
      asked = await appeal(world, committed, own, await priceGas(world, gasPrice));
      pay(asked.receipt);
    }
    const drawn = await draw(world, asked);
    const first = drawn.committee.length - (held[index] ?? 0);
    agents.push(...drawn.committee.slice(first).map((seat) => Number(agentOf(seat))));
    const shareOf = (seat: number): number => (seat >= first ? SURE : seat < (wrong[index] ?? 0) ? WRONG : MEDIUM);
    const shares = hexlify(Uint8Array.from(drawn.committee, (_, seat) => shareOf(seat)));
    const decision = decisionFor(drawn, { ...answer, shares });
    const sent: ContractTransactionResponse = await oracle.commit(
      ...commitArgs(world, drawn, decision),
      await priceGas(world, gasPrice),
    );
    committed = committedBy(world, drawn, decision, (await sent.wait())!);
    if (index < 2 && index + 1 === answers.length) {
      await passDeadline(world, committed.rounds.at(-1)!.round);
      await oracle.finalize(...latestOf(committed), await priceGas(world, gasPrice));
    }
  }
  await settlement.settle(...recordOf(committed!), await priceGas(world, gasPrice));
  const isSlashed = answers.length === 3 && answers[0] !== answers[1] && answers[1] === answers[2];
  if (isSlashed) {
    const price = await priceGas(world, gasPrice);
    const sent = await world.slasher.connect(asker).submitOverturned(...recordOf(committed!), 0, 1, price);
    pay(await sent.wait());
  }
  const now = (await token.balanceOf(asker.address)) as bigint;
  const [credit, owed] = [
    (await oracle.creditOf(asker.address, 0)) as bigint,
    (await registry.owedTo(asker.address)) as bigint,
  ];
  // The gas of a claim is shared by many requests and is left out.
  let earned = 0n;
  for (const agentId of agents) earned += (await registry.rewardsOf(agentId, deployer.address, 0)) as bigint;
  return now + credit + owed + earned - before - gas * gasPrice * 30n;
}

describe("an asker that makes both appeals against the answers to its own secured question", () => {
  // The truth can change between two committees, as the time of day does. Then the asker knows that it will be overturned.
  for (const [name, answers] of [
    ["where two committees contradict the first", [no, yes, yes]],
    ["where the last one agrees with the first", [no, yes, no]],
    ["where the second one agrees with the first", [no, no]],
  ] as const)
    for (const gasPrice of [0n, gwei / 100n, gwei])
      it(`SC4: loses ${name}, at ${Number(gasPrice) / 1e9} gwei`, async () => {
        expect(await gainOf(answers, gasPrice)).to.be.lessThan(0n);
      });

  for (const held of [
    [0, 1, 3],
    [0, 3, 6],
  ] as const)
    it(`SC4: loses where ${held[1]} of 9 and ${held[2]} of 19 seats are its own and earn most of the pay, if gas costs nothing`, async () => {
      expect(await gainOf([no, yes, yes], 0n, held)).to.be.lessThan(0n);
    });

  // Heads or tails: half of the others guess the other side.
  for (const [held, wrong] of [
    [
      [0, 4, 9],
      [0, 2, 5],
    ],
    [
      [0, 5, 10],
      [0, 2, 5],
    ],
  ] as const)
    it(`SC4: loses where ${held[1]} of 9 and ${held[2]} of 19 seats are its own, and half of the others are wrong at first, if gas costs nothing`, async () => {
      expect(await gainOf([no, yes, yes], 0n, held, wrong)).to.be.lessThan(0n);
    });

  // What it alone knows: as few of the others are right as SC2 allows.
  for (const [held, wrong] of [
    [
      [0, 2, 4],
      [0, 5, 12],
    ],
    [
      [0, 3, 6],
      [0, 5, 12],
    ],
    // It has all of the pay of both committees, and loses gas alone.
    [
      [0, 4, 7],
      [0, 5, 12],
    ],
  ] as const)
    for (const gasPrice of [gwei / 1_000n, gwei / 100n, gwei / 10n])
      it(`SC4: loses where ${held[1]} of 9 and ${held[2]} of 19 seats are its own, and all others but ${9 - held[1] - wrong[1]} and ${19 - held[2] - wrong[2]} are wrong at first, at ${Number(gasPrice) / 1e9} gwei`, async () => {
        expect(await gainOf([no, yes, yes], gasPrice, held, wrong)).to.be.lessThan(0n);
      });
});
