// What the chain's other parties gain or lose by a request: relayers, keepers, askers, appellants, and late stake.
import { concat, hexlify, keccak256, type ContractTransactionReceipt } from "ethers";

import { SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import {
  appeal,
  ask,
  commitArgs,
  committedBy,
  decisionFor,
  firstSeats,
  hung,
  no,
  passDeadline,
  recordOf,
  refundArgs,
  reopenedBy,
  type Asked,
  type Committed,
  type Drawn,
} from "../../test/support/contracts/course.ts";
import type { SignedDecision, Terms } from "../../test/support/contracts/typed-data.ts";
import { anyAmount, subscription, unbondingDelay } from "../../test/support/contracts/world.ts";
import { createRandom, type Random } from "../../sim/random.ts";
import type { Setting } from "./assumptions.ts";
import { agentsOf, askFor, commitBy, drawBy, passTime, priceGas, quoteOf, type Stage } from "./chain.ts";
import { askerOwns, gainOf, ownedBy } from "./ledger.ts";
import { close } from "./request.ts";

/** Dollars that parties gained by one episode. */
export interface Episode {
  readonly asker: number;
  readonly relayer: number;
  /** Whoever proposes the blocks, and gets the tips. */
  readonly proposer: number;
  readonly appellant: number;
  readonly latecomer: number;
}

/** An episode plays one request at a gas price, from the same chain each time. */
type Play = (scene: Scene) => Promise<void>;

interface Scene {
  readonly stage: Stage;
  readonly setting: Setting;
  readonly gwei: number;
  readonly random: Random;
}

export const EPISODES = {
  relay: async (scene) => whole(scene, {}),
  tip: async (scene) => whole(scene, { tip: 1 }),
  overbid: async (scene) => whole(scene, { tip: 3 }),
  pad: async (scene) => whole(scene, { padding: 1_000 }),
  hang: async (scene) => whole(scene, { decision: hung }),
  refund: async ({ stage, setting, gwei }) => {
    const asked = await askFor(stage.world, setting, gwei);
    await giveUp(stage, asked, gwei);
  },
  replace: async ({ stage, setting, gwei }) => {
    const asked = await askFor(stage.world, setting, gwei, { retries: 1 });
    await passDeadline(stage.world, asked.round);
    const oracle = stage.world.oracle.connect(stage.relayer);
    const sent = await oracle.replace(...refundArgs(asked), await priceGas(stage.world, gwei));
    await giveUp(stage, reopenedBy(stage.world, asked.request, [], await sent.wait()), gwei);
  },
  burn: async (scene) => {
    const asked = await askHostile(scene);
    await answerAndClose(scene, asked, {});
  },
  text: async (scene) => {
    const answer = hexlify(scene.random.bytes(1_024).map((byte) => 97 + (byte % 26)));
    const terms = { kind: 3, appeals: 0 };
    const asked = await askFor(scene.stage.world, scene.setting, scene.gwei, terms);
    await answerAndClose(scene, asked, { decision: { answer, outcome: keccak256(answer) } });
  },
  upheld: async (scene) => appealed(scene, no, {}),
  lost: async (scene) => appealed(scene, {}, {}),
  unclear: async (scene) => appealed(scene, no, hung),
  overturned: async (scene) => overturned(scene),
  late: async (scene) => stakeLate(scene),
} as const satisfies Record<string, Play>;
export type EpisodeName = keyof typeof EPISODES;

export async function play(
  stage: Stage,
  setting: Setting,
  name: EpisodeName,
  gwei: number,
  seed: number,
): Promise<Episode> {
  await stage.restart();
  const { world, relayer, appellant, latecomer } = stage;
  const random = createRandom(seed, `episode, ${setting.name}`);
  const proposer = (await world.ethers.provider.getBlock("latest"))!.miner;
  const owned = async () => ({
    asker: await askerOwns(world),
    relayer: await ownedBy(world, relayer.address),
    proposer: await ownedBy(world, proposer),
    appellant: await ownedBy(world, appellant.address),
    latecomer: await ownedBy(world, latecomer.address),
  });
  const before = await owned();
  await EPISODES[name]({ stage, setting, gwei, random });
  const after = await owned();
  return {
    asker: gainOf(before.asker, after.asker),
    relayer: gainOf(before.relayer, after.relayer),
    proposer: gainOf(before.proposer, after.proposer),
    appellant: gainOf(before.appellant, after.appellant),
    latecomer: gainOf(before.latecomer, after.latecomer),
  };
}

interface Manner {
  readonly decision?: Partial<SignedDecision>;
  readonly tip?: number;
  /** Bytes of no use behind the call's data. */
  readonly padding?: number;
}

async function whole(scene: Scene, manner: Manner): Promise<void> {
  const asked = await askFor(scene.stage.world, scene.setting, scene.gwei);
  await answerAndClose(scene, asked, manner);
}

/** The last seat answered wrong, and has no share. */
function decisionOfSeats(drawn: Drawn, overrides: Partial<SignedDecision>): SignedDecision {
  const shares = drawn.committee.map((_, seat) => (seat === drawn.committee.length - 1 ? 0 : SURE_RIGHT));
  return decisionFor(drawn, { shares: hexlify(Uint8Array.from(shares)), ...overrides });
}

/** As agents do, the relayer sends the signatures of the smallest quorum. */
async function answerAndClose({ stage, gwei, random }: Scene, asked: Asked, manner: Manner): Promise<void> {
  const { world, relayer } = stage;
  const drawn = await drawBy(world, asked, random.fork("draw"));
  const decision = decisionOfSeats(drawn, manner.decision ?? {});
  const args = commitArgs(world, drawn, decision);
  const data = concat([
    world.oracle.interface.encodeFunctionData("commit", args),
    new Uint8Array(manner.padding ?? 0).fill(1),
  ]);
  const overrides = await priceGas(world, gwei, manner.tip);
  const sent = await relayer.sendTransaction({ to: world.oracle.target, data, ...overrides });
  // A transaction with a tail is no call of the interface, but its logs are the same.
  const receipt = (await sent.wait()) as unknown as ContractTransactionReceipt;
  await close(stage, committedBy(world, drawn, decision, receipt), gwei);
}

async function giveUp({ world, relayer }: Stage, asked: Asked, gwei: number): Promise<void> {
  await passDeadline(world, asked.round);
  await world.oracle.connect(relayer).refund(...refundArgs(asked), await priceGas(world, gwei));
}

/** Gas that the hostile consumer asks for, and burns. */
const BURNT = 500_000;

async function askHostile({ stage, setting, gwei }: Scene): Promise<Asked> {
  const { world } = stage;
  const consumer = await world.ethers.deployContract("HostileConsumer", [world.oracle.target], stage.latecomer);
  await consumer.getFunction("setMode").send(2);
  const address = await consumer.getAddress();
  await world.oracle.setConsumer(subscription, address, anyAmount, anyAmount, await priceGas(world, gwei));
  const { committeeSize, appeals } = setting;
  const terms: Partial<Terms> = { committeeSize, appeals, callbackGasLimit: BURNT };
  const fee = await quoteOf(world, terms);
  const overrides = await priceGas(world, gwei);
  return ask(world, { ...terms, fee }, undefined, async (packed, question) => {
    const { oracle } = world;
    const data = oracle.interface.encodeFunctionData("request", [subscription, packed, question]);
    return consumer.connect(world.deployer).getFunction("execute").send(oracle.target, data, overrides);
  });
}

/** A first decision, an appeal against it, and what the called committee says; nobody appeals again. */
async function appealed(
  { stage, setting, gwei, random }: Scene,
  first: Partial<SignedDecision>,
  second: Partial<SignedDecision>,
): Promise<void> {
  const asked = await askFor(stage.world, setting, gwei);
  const committed = await decideAs({ stage, gwei, random: random.fork("draw") }, asked, first);
  const reopened = await appealBy(stage, committed, gwei);
  await close(stage, await decideAs({ stage, gwei, random: random.fork("again") }, reopened, second), gwei);
}

/** A secured request whose answer changes after the first committee: the appellant makes both appeals, and brings the record. */
async function overturned({ stage, setting, gwei, random }: Scene): Promise<void> {
  const { world, appellant } = stage;
  let asked = await askFor(world, setting, gwei, { security: 1 });
  let committed = await decideAs({ stage, gwei, random: random.fork("draw") }, asked, no);
  for (const again of ["again", "at last"]) {
    asked = await appealBy(stage, committed, gwei);
    committed = await decideAs({ stage, gwei, random: random.fork(again) }, asked, {});
  }
  await close(stage, committed, gwei);
  const slasher = world.slasher.connect(appellant);
  await slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(world, gwei));
}

async function appealBy({ world, appellant }: Stage, committed: Committed, gwei: number): Promise<Asked> {
  return appeal(world, committed, world.oracle.connect(appellant), await priceGas(world, gwei));
}

/** Draws a committee, and commits what it says with the signatures of the first quorum. */
async function decideAs(
  { stage, gwei, random }: Pick<Scene, "stage" | "gwei" | "random">,
  asked: Asked,
  answer: Partial<SignedDecision>,
): Promise<Committed> {
  const drawn = await drawBy(stage.world, asked, random);
  const signers = firstSeats(drawn.committee.length);
  return commitBy(stage, drawn, decisionOfSeats(drawn, answer), signers, await priceGas(stage.world, gwei));
}

/** Bonds to an agent between its committee's decision and the settlement, claims, and leaves. */
async function stakeLate({ stage, setting, gwei, random }: Scene): Promise<void> {
  const { world, latecomer, studied } = stage;
  const drawn = await drawBy(
    world,
    await askFor(world, setting, gwei),
    random.fork("draw"),
    (agents) => agents[0] !== studied,
  );
  const agent = agentsOf(drawn)[0]!;
  const registry = world.registry.connect(latecomer);
  const { bonded } = await registry.getAgent(agent);
  const room = ((await registry.maxStake()) as bigint) - (bonded.assets as bigint);
  await registry.bond(agent, room, await priceGas(world, gwei));
  const committed = await commitBy(
    stage,
    drawn,
    decisionOfSeats(drawn, {}),
    drawn.committee.map((_, seat) => seat),
    await priceGas(world, gwei),
  );
  await close(stage, committed, gwei);
  const { shares } = await registry.positionOf(agent, latecomer.address);
  await registry.startUnbonding(agent, shares, await priceGas(world, gwei));
  if ((await registry.rewardsOf(agent, latecomer.address, 0)) !== 0n)
    await registry.claimRewards(agent, 0, latecomer.address, await priceGas(world, gwei));
  await passTime(world, unbondingDelay);
  await registry.withdrawStake(agent, latecomer.address, await priceGas(world, gwei));
}
