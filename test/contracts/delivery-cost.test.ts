import { expect } from "chai";
import type { ContractTransactionResponse, Signer } from "ethers";
import hre from "hardhat";

import {
  appeal,
  ask,
  decide,
  fallBackArgs,
  latestOf,
  passDeadline,
  priceGas,
  refundArgs,
  termsFor,
  type Asked,
} from "../support/contracts/course.ts";
import type { Terms } from "../support/contracts/typed-data.ts";
import { anyAmount, deployWorld, registerAgents, subscription, type World } from "../support/contracts/world.ts";
import { paidGas } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;
const gwei = 10n ** 9n;
const callbackGasLimit = 100_000;
const BURN_GAS = 2;
/** Sixty agents are enough for 18 seats and the 37 of an appeal. */
const sizes = [4, 18] as const;

/** How the request is asked: by a new account that pays at once and has no code, or by a contract that burns the gas of its callback. */
const askers = ["a payer's first credit", "a callback that burns its gas"] as const;
type Asker = (typeof askers)[number];

/** Makes agents, gas prices, and a keeper that has a credit already. */
async function priced() {
  const prices = { unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: 30n * gwei, treasuryPpm: 50_000n };
  const world = await deployWorld(ethers, { token: prices });
  await registerAgents(world, 60);
  const [, keeper, payer, appellant] = await ethers.getSigners();
  for (const account of [payer!, appellant!]) {
    await world.token.mint(account, 10n ** 24n);
    await world.token.connect(account).approve(world.oracle.target, 10n ** 24n);
  }
  const known = await ask(world);
  await passDeadline(world, known.round);
  await world.oracle.connect(keeper!).refund(...refundArgs(known), await priceGas(world, 6n * gwei));
  return { world, keeper: world.oracle.connect(keeper!), payer: payer!, appellant: world.oracle.connect(appellant!) };
}

async function askAs(asker: Asker, world: World, payer: Signer, overrides: Partial<Terms>): Promise<Asked> {
  const terms = { callbackGasLimit, ...overrides };
  if (asker === "a payer's first credit")
    return ask(world, terms, undefined, (packed, question) => world.oracle.connect(payer).request(0, packed, question));
  const consumer = await ethers.deployContract("HostileConsumer", [world.oracle.target]);
  await world.oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  await consumer.getFunction("setMode")(BURN_GAS);
  const by = (_: string, question: Uint8Array) =>
    consumer.getFunction("ask").send(subscription, termsFor(terms), question);
  return ask(world, {}, undefined, by);
}

describe("SE13: a keeper's call uses no more than it is paid", () => {
  for (const asker of askers) {
    for (const committeeSize of sizes) {
      // Nothing is burned where there is no code.
      const burned = asker === "a payer's first credit" ? 0n : BigInt(callbackGasLimit);
      const expectPaid = async (gas: bigint, sent: ContractTransactionResponse): Promise<void> => {
        const { gasUsed } = (await sent.wait())!;
        const paid = gas + burned;
        expect(gasUsed <= paid, `${gasUsed} gas, paid ${paid}`).to.be.true;
      };

      it(`refund, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer } = await loadFixture(priced);
        const asked = await askAs(asker, world, payer, { committeeSize });
        await passDeadline(world, asked.round);
        await expectPaid(paidGas.delivery, await keeper.refund(...refundArgs(asked), await priceGas(world, 6n * gwei)));
      });

      it(`replace, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer } = await loadFixture(priced);
        const asked = await askAs(asker, world, payer, { committeeSize, retries: 1 });
        await passDeadline(world, asked.round);
        // It makes no callback.
        await expectPaid(
          paidGas.replace - burned,
          await keeper.replace(...refundArgs(asked), await priceGas(world, 6n * gwei)),
        );
      });

      it(`finalize, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer } = await loadFixture(priced);
        const decided = await decide(world, await askAs(asker, world, payer, { committeeSize, appeals: 1 }));
        await passDeadline(world, decided.rounds[0]!.round);
        await expectPaid(
          paidGas.delivery,
          await keeper.finalize(...latestOf(decided), await priceGas(world, 6n * gwei)),
        );
      });

      it(`fallBack with an appellant's first credit, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer, appellant } = await loadFixture(priced);
        const decided = await decide(world, await askAs(asker, world, payer, { committeeSize, appeals: 1 }));
        const running = await appeal(world, decided, appellant);
        await passDeadline(world, running.round);
        await expectPaid(
          paidGas.fallBack,
          await keeper.fallBack(...fallBackArgs(running), await priceGas(world, 6n * gwei)),
        );
      });
    }
  }
});
