import { expect } from "chai";
import { hexlify, toUtf8Bytes, type ContractTransactionResponse, type Signer } from "ethers";
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
import {
  anyAmount,
  deployWorld,
  mineTo,
  registerAgents,
  subscription,
  type World,
} from "../support/contracts/world.ts";
import { paidGas } from "./utils/money.ts";

const { ethers, networkHelpers } = await hre.network.create();
const { loadFixture } = networkHelpers;
const gwei = 10n ** 9n;
const callbackGasLimit = 100_000;
const BURN_GAS = 2;
/** A hundred agents are enough for 31 seats and the 63 of an appeal. */
const sizes = [4, 31] as const;
/** The longest epoch: with it a seed block is older than the 256 hashes that the EVM knows when its committee is late. */
const EPOCH = 7_200n;
/** The contract of EIP-2935 with its own code, as in utils/HistoryChain.sol. */
const HISTORY = "0x0000F90827F1C53a10cb7A02335B175320002935";
const HISTORY_CODE =
  "0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500";
const HISTORY_SLOTS = 8191n;
const BURNER = "0x00000000000000000000000000000000000000fe";

/**
 * How the request is asked: by a new account that pays at once and has no code, by one that runs code which burns all gas (EIP-7702), or
 * by a contract that burns the gas of its callback.
 */
const askers = ["a payer's first credit", "a payer by EIP-7702", "a callback that burns its gas"] as const;
type Asker = (typeof askers)[number];

/** Terms with few zero bytes: in calldata they cost four times as much as zeros. */
const DENSE = {
  fee: BigInt(`0x02${"01".repeat(9)}`),
  kind: 2,
  decimals: 18,
  tolerance: 0x0101010101,
  assurance: 1,
  duration: 70_001,
} as const;

/** Makes a chain as it is deployed to: long epochs, and EIP-2935. Makes agents, gas prices, and a keeper that has a credit already. */
async function priced() {
  const prices = { unitPrice: 10n ** 12n, gasRate: 10n ** 18n, gasPriceCap: 30n * gwei, treasuryPpm: 50_000n };
  const world = await deployWorld(ethers, { token: prices }, "TestToken", EPOCH);
  await ethers.provider.send("hardhat_setCode", [HISTORY, HISTORY_CODE]);
  await ethers.provider.send("hardhat_setCode", [BURNER, "0xfe"]);
  await registerAgents(world, 100);
  await mineTo(world, EPOCH);
  const [, keeper, payer, appellant] = await ethers.getSigners();
  for (const account of [payer!, appellant!]) {
    await world.token.mint(account, 10n ** 28n);
    await world.token.connect(account).approve(world.oracle.target, 10n ** 28n);
  }
  await world.oracle.connect(payer!).fund(subscription, 10n ** 27n);
  const known = await ask(world);
  await passDeadline(world, known.round);
  await world.oracle.connect(keeper!).refund(...refundArgs(known), await priceGas(world, 6n * gwei));
  return { world, keeper: world.oracle.connect(keeper!), payer: payer!, appellant: world.oracle.connect(appellant!) };
}

/** An hour of 12-second blocks passes, and the chain serves the hash of the seed block. */
async function passHour(world: World, { round, seedBlock }: Asked): Promise<void> {
  await mineTo(world, seedBlock + 300n);
  const slot = `0x${(seedBlock % HISTORY_SLOTS).toString(16)}`;
  const { hash } = (await ethers.provider.getBlock(Number(seedBlock)))!;
  await ethers.provider.send("hardhat_setStorageAt", [HISTORY, slot, hash]);
  await passDeadline(world, round);
}

async function askAs(asker: Asker, world: World, payer: Signer, overrides: Partial<Terms>): Promise<Asked> {
  const terms = { ...DENSE, callbackGasLimit, ...overrides };
  if (asker !== "a callback that burns its gas") {
    const asked = await ask(world, terms, undefined, (packed, question) =>
      world.oracle.connect(payer).request(0, packed, question),
    );
    if (asker === "a payer by EIP-7702")
      await ethers.provider.send("hardhat_setCode", [await payer.getAddress(), `0xef0100${BURNER.slice(2)}`]);
    return asked;
  }
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
        await passHour(world, asked);
        await expectPaid(paidGas.delivery, await keeper.refund(...refundArgs(asked), await priceGas(world, 6n * gwei)));
      });

      it(`replace, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer } = await loadFixture(priced);
        const asked = await askAs(asker, world, payer, { committeeSize, retries: 1 });
        await passHour(world, asked);
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

      it(`finalize the longest answer with the most changes, ${asker}, ${committeeSize} seats`, async () => {
        const { world, keeper, payer } = await loadFixture(priced);
        const terms = { committeeSize, appeals: 1, kind: 2, decimals: 18 };
        const changes = Array.from({ length: committeeSize }, (_, seat) => [seat, 0xff]).flat();
        const decided = await decide(world, await askAs(asker, world, payer, terms), {
          outcome: `0x${"7f".repeat(32)}`,
          answer: hexlify(toUtf8Bytes("9".repeat(79))),
          shares: `0x${"f0".repeat(committeeSize)}`,
          reputationChanges: hexlify(Uint8Array.from(changes)),
        });
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
        await passHour(world, running);
        await expectPaid(
          paidGas.fallBack,
          await keeper.fallBack(...fallBackArgs(running), await priceGas(world, 6n * gwei)),
        );
      });
    }
  }
});
