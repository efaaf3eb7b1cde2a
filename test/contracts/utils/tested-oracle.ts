// Two oracles on which a suite plays the ends of requests: `MockDecisionOracle`, and the oracle with agents.
import type { HardhatEthers } from "@nomicfoundation/hardhat-ethers/types";
import { hexlify, toBeHex, toUtf8Bytes, type BaseContract, type Overrides } from "ethers";

import {
  appeal,
  decide,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  passDeadline,
  recordOf,
  refundArgs,
  replace,
  type Asked,
  type Committed,
} from "../../support/contracts/course.ts";
import { Status, fieldOf, type SignedDecision } from "../../support/contracts/typed-data.ts";
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
import { isWaiting } from "../../../agents/core/request/progress.ts";

/** An answer or a non-answer as the mock takes it, and the text and outcome of a committee. */
export interface Answer {
  /** The status of a non-answer. */
  readonly status?: number;
  /** The outcome as an int256; ignored for a text and a non-answer. */
  readonly value: bigint;
  readonly text: string;
  /** The hash of a text, or the constant of a non-answer. */
  readonly outcome?: string;
  /** Parts per million. */
  readonly confidence: number;
}

export interface TestedOracle {
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

/** Both oracles as fixtures, and by their names. */
export function testedOracles(ethers: HardhatEthers) {
  const mockFixture = () => testedMock(ethers);
  const realFixture = () => testedOracle(ethers);
  const oracles: readonly (readonly [name: string, fixture: () => Promise<TestedOracle>])[] = [
    ["the mock", mockFixture],
    ["the oracle", realFixture],
  ];
  return { mockFixture, realFixture, oracles };
}

async function testedMock(ethers: HardhatEthers): Promise<TestedOracle> {
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
  const isNonAnswer = ({ status }: Answer): boolean => status !== undefined;
  const args = ({ request }: Asked, { status, outcome, value, text, confidence }: Answer) =>
    [request.id, status ?? (outcome === undefined ? value : text), confidence] as const;
  const decideName = (answer: Answer): string => {
    if (isNonAnswer(answer)) return "decideNonAnswer";
    return answer.outcome === undefined ? "decide" : "decideText";
  };
  return {
    world: { deployer: deployer!, oracle },
    subscription,
    ...(await consumersOf(ethers, oracle)),
    decide: (asked, answer, overrides = {}) => call(decideName(answer))(...args(asked, answer), overrides),
    decideProvisionally: (asked, answer) => call(`${decideName(answer)}Provisionally`)(...args(asked, answer)),
    overturn: (asked, answer) => call(isNonAnswer(answer) ? "overturnByNonAnswer" : "overturn")(...args(asked, answer)),
    passAppealPeriod: ({ request }) => call("passAppealPeriod")(request.id),
    hang: ({ request }) => call("hang")(request.id),
    expire: ({ request }) => call("expire")(request.id),
    redeliver: ({ request }) => call("redeliver")(request.id),
    storeOutcome: ({ request }) => call("storeOutcome")(request.id),
  };
}

async function testedOracle(ethers: HardhatEthers): Promise<TestedOracle> {
  const world = await deployWorld(ethers);
  await registerAgents(world, 40);
  await world.manager.grantRole(pauserRole, world.deployer.address, 0);
  const { oracle, settlement } = world;
  const latest = new Map<bigint, Committed>();
  /** The attempts of requests that ask again. */
  const waiting = new Map<bigint, Asked>();
  /** The attempt that runs. */
  const running = (asked: Asked): Asked => waiting.get(asked.request.id) ?? asked;
  const committedOf = ({ request }: Asked): Committed => {
    const committed = latest.get(request.id);
    if (committed === undefined) throw new Error(`Request ${request.id} has no decision`);
    return committed;
  };
  /** Lets committees say the same until none follows by itself. After a wait somebody calls the first of them. */
  const judge = async (asked: Asked, decision: Partial<SignedDecision>, overrides: Overrides = {}): Promise<void> => {
    const { id } = asked.request;
    let next: Asked | null = isWaiting(asked) ? await replace(world, asked) : asked;
    waiting.delete(id);
    while (next !== null && !isWaiting(next)) {
      const committed = await decide(world, next, decision, overrides);
      latest.set(id, committed);
      next = committed.reopened;
    }
    if (next !== null) waiting.set(id, next);
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
    if (waiting.has(asked.request.id)) return;
    if ((await oracle.statusOf(asked.request.id)).provisional) await passAppealPeriod(asked);
    else await settle(asked);
  };
  return {
    world,
    subscription,
    ...(await consumersOf(ethers, oracle)),
    decide: async (asked, answer, overrides) => {
      await judge(running(asked), signedFor(answer), overrides);
      await end(asked);
    },
    decideProvisionally: (asked, answer) => judge(running(asked), signedFor(answer)),
    overturn: async (asked, answer) => {
      await judge(await appeal(world, committedOf(asked)), signedFor(answer));
      await end(asked);
    },
    passAppealPeriod,
    hang: async (asked) => {
      await judge(running(asked), hung);
      await end(asked);
    },
    expire: async (asked) => {
      let last = running(asked);
      const retries = Number(fieldOf(LAYOUTS.requestTerms, asked.request.terms, "retries"));
      while (last.attempt < retries) last = await replace(world, last);
      await passDeadline(world, last.round);
      if (last.past.length === 0) return oracle.refund(...refundArgs(last));
      waiting.delete(asked.request.id);
      latest.set(asked.request.id, givenUp(last));
      const sent = await oracle.fallBack(...fallBackArgs(last));
      await settle(asked);
      return sent;
    },
    redeliver: (asked) => oracle.retryCallback(...latestOf(committedOf(asked))),
    storeOutcome: (asked) => settlement.storeOutcome(...latestOf(committedOf(asked))),
  };
}

async function consumersOf(ethers: HardhatEthers, oracle: Oracle): Promise<Pick<TestedOracle, "recorder" | "hostile">> {
  const recorder = await ethers.deployContract("RecordingConsumer");
  const hostile = await ethers.deployContract("HostileConsumer", [oracle.target]);
  for (const consumer of [recorder, hostile])
    await oracle.setConsumer(subscription, consumer.target, anyAmount, anyAmount);
  return { recorder, hostile };
}

/** What a committee signs for the answer. */
function signedFor({ status = Status.Decided, value, text, outcome, confidence }: Answer): Partial<SignedDecision> {
  return {
    status,
    outcome: outcome ?? toBeHex(BigInt.asUintN(256, value), 32),
    answer: hexlify(toUtf8Bytes(text)),
    confidence,
  };
}
