// Two stages on which a suite plays the ends of requests: `MockDecisionOracle`, and the oracle with agents.
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { hexlify, toBeHex, toUtf8Bytes, type BaseContract, type Overrides } from "ethers";

import {
  appeal,
  decide,
  hung,
  latestOf,
  passDeadline,
  recordOf,
  refundArgs,
  replace,
  type Asked,
  type Committed,
} from "../../support/contracts/course.ts";
import { fieldOf, type SignedDecision } from "../../support/contracts/typed-data.ts";
import {
  anyAmount,
  deployWorld,
  pauserRole,
  registerAgents,
  subscription,
  subscriptionCoins,
  subscriptionFunds,
  type Oracle,
  type World,
} from "../../support/contracts/world.ts";
import { LAYOUTS } from "../../../agents/core/encoding/layouts.ts";

/** An answer as the mock takes it, and the text and outcome of a committee. */
export interface Answer {
  /** The outcome as an int256; ignored for a text. */
  readonly value: bigint;
  readonly text: string;
  /** Of a text: the hash. */
  readonly outcome?: string;
  /** Parts per million. */
  readonly confidence: number;
}

export interface Stage {
  readonly world: Pick<World, "oracle" | "deployer">;
  readonly subscription: bigint;
  /** Keeps the calldata of its callback. */
  readonly recorder: BaseContract;
  /** Misbehaves in its callback. */
  readonly hostile: BaseContract;
  decide(asked: Asked, answer: Answer, overrides?: Overrides): Promise<unknown>;
  decideProvisionally(asked: Asked, answer: Answer): Promise<unknown>;
  overturn(asked: Asked, answer: Answer): Promise<unknown>;
  passAppealPeriod(asked: Asked): Promise<unknown>;
  hang(asked: Asked): Promise<unknown>;
  expire(asked: Asked): Promise<unknown>;
  redeliver(asked: Asked): Promise<unknown>;
  storeOutcome(asked: Asked): Promise<unknown>;
}

export async function mockStage(ethers: HardhatEthers): Promise<Stage> {
  const [deployer] = await ethers.getSigners();
  const mock = await ethers.deployContract("MockDecisionOracle");
  const oracle = mock as unknown as Oracle;
  const token = await ethers.getContractAt("MockFeeToken", await oracle.feeToken());
  await token.getFunction("mint")(deployer!.address, subscriptionFunds);
  await token.getFunction("approve")(oracle.target, subscriptionFunds);
  await oracle.createSubscription();
  await oracle.setConsumer(subscription, deployer!.address, anyAmount, anyAmount);
  await oracle.fund(subscription, subscriptionFunds);
  await oracle.fundNative(subscription, { value: subscriptionCoins });
  const call = (name: string) => mock.getFunction(name);
  const text = (asked: Asked, answer: Answer) =>
    answer.outcome === undefined ? [asked.request.id, answer.value] : [asked.request.id, answer.text];
  return {
    world: { deployer: deployer!, oracle },
    subscription,
    ...(await consumersOf(ethers, oracle)),
    decide: (asked, answer, overrides = {}) =>
      call(answer.outcome === undefined ? "decide" : "decideText")(
        ...text(asked, answer),
        answer.confidence,
        overrides,
      ),
    decideProvisionally: ({ request }, { value, confidence }) =>
      call("decideProvisionally")(request.id, value, confidence),
    overturn: ({ request }, { value, confidence }) => call("overturn")(request.id, value, confidence),
    passAppealPeriod: ({ request }) => call("passAppealPeriod")(request.id),
    hang: ({ request }) => call("hang")(request.id),
    expire: ({ request }) => call("expire")(request.id),
    redeliver: ({ request }) => call("redeliver")(request.id),
    storeOutcome: ({ request }) => call("storeOutcome")(request.id),
  };
}

export async function realStage(ethers: HardhatEthers): Promise<Stage> {
  const world = await deployWorld(ethers);
  await registerAgents(world, 40);
  await world.manager.grantRole(pauserRole, world.deployer.address, 0);
  const { oracle, settlement } = world;
  const latest = new Map<bigint, Committed>();
  const committedOf = ({ request }: Asked): Committed => {
    const committed = latest.get(request.id);
    if (committed === undefined) throw new Error(`Request ${request.id} has no decision`);
    return committed;
  };
  /** Lets committees say the same until none follows by itself. */
  const judge = async (asked: Asked, decision: Partial<SignedDecision>, overrides: Overrides = {}): Promise<void> => {
    let committed = await decide(world, asked, decision, overrides);
    while (committed.reopened !== null) committed = await decide(world, committed.reopened, decision, overrides);
    latest.set(asked.request.id, committed);
  };
  const settle = async (asked: Asked): Promise<void> => {
    if (!(await oracle.statusOf(asked.request.id)).settled) await settlement.settle(...recordOf(committedOf(asked)));
  };
  const passAppealPeriod = async (asked: Asked): Promise<void> => {
    const committed = committedOf(asked);
    await passDeadline(world, committed.rounds.at(-1)!.round);
    await oracle.finalize(...latestOf(committed));
    await settle(asked);
  };
  const end = async (asked: Asked): Promise<void> => {
    if ((await oracle.statusOf(asked.request.id)).provisional) await passAppealPeriod(asked);
    else await settle(asked);
  };
  return {
    world,
    subscription,
    ...(await consumersOf(ethers, oracle)),
    decide: async (asked, answer, overrides) => {
      await judge(asked, signedFor(answer), overrides);
      await end(asked);
    },
    decideProvisionally: (asked, answer) => judge(asked, signedFor(answer)),
    overturn: async (asked, answer) => {
      await judge(await appeal(world, committedOf(asked)), signedFor(answer));
      await end(asked);
    },
    passAppealPeriod,
    hang: async (asked) => {
      await judge(asked, hung);
      await end(asked);
    },
    expire: async (asked) => {
      let running = asked;
      for (let left = fieldOf(LAYOUTS.requestTerms, asked.request.terms, "retries"); left > 0n; left--)
        running = await replace(world, running);
      await passDeadline(world, running.round);
      return oracle.refund(...refundArgs(running));
    },
    redeliver: (asked) => oracle.retryCallback(...latestOf(committedOf(asked))),
    storeOutcome: (asked) => settlement.storeOutcome(...latestOf(committedOf(asked))),
  };
}

async function consumersOf(ethers: HardhatEthers, oracle: Oracle): Promise<Pick<Stage, "recorder" | "hostile">> {
  const recorder = await ethers.deployContract("RecordingConsumer");
  const hostile = await ethers.deployContract("HostileConsumer", [oracle.target]);
  for (const consumer of [recorder, hostile])
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  return { recorder, hostile };
}

/** What a committee signs for the answer. */
function signedFor({ value, text, outcome, confidence }: Answer): Partial<SignedDecision> {
  return {
    outcome: outcome ?? toBeHex(BigInt.asUintN(256, value), 32),
    answer: hexlify(toUtf8Bytes(text)),
    confidence,
  };
}
