import { expect } from "chai";
import hre from "hardhat";
import type { ContractTransactionReceipt, ContractTransactionResponse } from "ethers";

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
import { packTerms, type SignedDecision } from "../support/contracts/typed-data.ts";
import { deployWorld, maxStake, registerAgents, type World } from "../support/contracts/world.ts";

const { ethers } = await hre.network.create();

const gwei = 10n ** 9n;
/** The prices of docs/deploying.md, if a token of this world stands for 100 (minStake is 100 there). */
const list = { unitPrice: 250_000_000_000_000n, gasRate: 30n * 10n ** 18n, gasPriceCap: 10n * gwei, treasuryPpm: 0n };
const yes = {};

/** What an asker gains that appeals for itself until two larger committees agree; each committee answers as told. */
async function gainOf(answers: readonly Partial<SignedDecision>[], gasPrice: bigint): Promise<bigint> {
  const world: World = await deployWorld(ethers, { token: list });
  const { oracle, token, registry, settlement } = world;
  const asker = (await ethers.getSigners())[5]!;
  await registerAgents(world, 32, { stake: maxStake });
  await token.mint(asker.address, 10n ** 24n);
  await token.connect(asker).approve(oracle.target, 10n ** 24n);
  const before = (await token.balanceOf(asker.address)) as bigint;
  const own = oracle.connect(asker);
  let gas = 0n;
  const pay = ({ gasUsed }: ContractTransactionReceipt): void => void (gas += gasUsed);

  const terms = { security: 1, appeals: 2 } as const;
  const fee = (await oracle.quote(packTerms(termsFor(terms)))) as bigint;
  let asked: Asked = await ask(world, { ...terms, fee }, "Heads or tails?", (packed, bytes) =>
    own.request(0, packed, bytes),
  );
  pay(asked.receipt);
  let committed: Committed | null = null;
  for (const [index, answer] of answers.entries()) {
    if (committed !== null) {
      asked = await appeal(world, committed, own, await priceGas(world, gasPrice));
      pay(asked.receipt);
    }
    const drawn = await draw(world, asked);
    const decision = decisionFor(drawn, answer);
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
    const sent = await world.slasher.connect(asker).submitOverturned(...recordOf(committed!), 0, 1);
    pay(await sent.wait());
  }
  const now = (await token.balanceOf(asker.address)) as bigint;
  const [credit, owed] = [
    (await oracle.creditOf(asker.address, 0)) as bigint,
    (await registry.owedTo(asker.address)) as bigint,
  ];
  return now + credit + owed - before - gas * gasPrice * 30n;
}

describe("an asker of secured questions that have no answer", () => {
  // Committees that toss a coin: the asker stops when the second one agrees with the first.
  for (const gasPrice of [gwei / 10n, gwei / 2n, gwei])
    it(`does not live on the seats' stake, at ${Number(gasPrice) / 1e9} gwei`, async () => {
      const same = await gainOf([no, no], gasPrice);
      const lost = await gainOf([no, yes, no], gasPrice);
      const won = await gainOf([no, yes, yes], gasPrice);
      const mean = (2n * same + lost + won) / 4n;
      expect(mean).to.be.lessThan(0n);
    });
});
