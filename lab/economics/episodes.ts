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
import { agentsOf, askFor, commitBy, drawBy, passTime, priceGas, quoteOf, type StudyChain } from "./chain.ts";
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
  readonly chain: StudyChain;
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
  refund: async ({ chain, setting, gwei }) => {
    const asked = await askFor(chain.world, setting, gwei);
    await giveUp(chain, asked, gwei);
  },
  replace: async ({ chain, setting, gwei }) => {
    const asked = await askFor(chain.world, setting, gwei, { retries: 1 });
    await passDeadline(chain.world, asked.round);
    const oracle = chain.world.oracle.connect(chain.relayer);
    const sent = await oracle.replace(...refundArgs(asked), await priceGas(chain.world, gwei));
    await giveUp(chain, reopenedBy(chain.world, asked.request, [], await sent.wait()), gwei);
  },
  burn: async (scene) => {
    const asked = await askHostile(scene);
    await answerAndClose(scene, asked, {});
  },
  text: async (scene) => {
    const answer = hexlify(scene.random.bytes(1_024).map((byte) => 97 + (byte % 26)));
    const terms = { kind: 3, appeals: 0 };
    const asked = await askFor(scene.chain.world, scene.setting, scene.gwei, terms);
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
  chain: StudyChain,
  setting: Setting,
  name: EpisodeName,
  gwei: number,
  seed: number,
): Promise<Episode> {
  await chain.restart();
  const { world, relayer, appellant, latecomer } = chain;
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
  await EPISODES[name]({ chain, setting, gwei, random });
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
  const asked = await askFor(scene.chain.world, scene.setting, scene.gwei);
  await answerAndClose(scene, asked, manner);
}

/** The last seat answered wrong, and has no share. */
function decisionOfSeats(drawn: Drawn, overrides: Partial<SignedDecision>): SignedDecision {
  const shares = drawn.committee.map((_, seat) => (seat === drawn.committee.length - 1 ? 0 : SURE_RIGHT));
  return decisionFor(drawn, { shares: hexlify(Uint8Array.from(shares)), ...overrides });
}

/** As agents do, the relayer sends the signatures of the smallest quorum. */
async function answerAndClose({ chain, gwei, random }: Scene, asked: Asked, manner: Manner): Promise<void> {
  const { world, relayer } = chain;
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
  await close(chain, committedBy(world, drawn, decision, receipt), gwei);
}

async function giveUp({ world, relayer }: StudyChain, asked: Asked, gwei: number): Promise<void> {
  await passDeadline(world, asked.round);
  await world.oracle.connect(relayer).refund(...refundArgs(asked), await priceGas(world, gwei));
}

/** Gas that the hostile consumer asks for, and burns. */
const BURNT = 500_000;

async function askHostile({ chain, setting, gwei }: Scene): Promise<Asked> {
  const { world } = chain;
  const consumer = await world.ethers.deployContract("HostileConsumer", [world.oracle.target], chain.latecomer);
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
  { chain, setting, gwei, random }: Scene,
  first: Partial<SignedDecision>,
  second: Partial<SignedDecision>,
): Promise<void> {
  const asked = await askFor(chain.world, setting, gwei);
  const committed = await decideAs({ chain, gwei, random: random.fork("draw") }, asked, first);
  const reopened = await appealBy(chain, committed, gwei);
  await close(chain, await decideAs({ chain, gwei, random: random.fork("again") }, reopened, second), gwei);
}

/** A secured request whose answer changes after the first committee: the appellant makes both appeals, and brings the record. */
async function overturned({ chain, setting, gwei, random }: Scene): Promise<void> {
  const { world, appellant } = chain;
  let asked = await askFor(world, setting, gwei, { security: 1 });
  let committed = await decideAs({ chain, gwei, random: random.fork("draw") }, asked, no);
  for (const again of ["again", "at last"]) {
    asked = await appealBy(chain, committed, gwei);
    committed = await decideAs({ chain, gwei, random: random.fork(again) }, asked, {});
  }
  await close(chain, committed, gwei);
  const slasher = world.slasher.connect(appellant);
  await slasher.submitOverturned(...recordOf(committed), 0, 1, await priceGas(world, gwei));
}

async function appealBy({ world, appellant }: StudyChain, committed: Committed, gwei: number): Promise<Asked> {
  return appeal(world, committed, world.oracle.connect(appellant), await priceGas(world, gwei));
}

/** Draws a committee, and commits what it says with the signatures of the first quorum. */
async function decideAs(
  { chain, gwei, random }: Pick<Scene, "chain" | "gwei" | "random">,
  asked: Asked,
  answer: Partial<SignedDecision>,
): Promise<Committed> {
  const drawn = await drawBy(chain.world, asked, random);
  const signers = firstSeats(drawn.committee.length);
  return commitBy(chain, drawn, decisionOfSeats(drawn, answer), signers, await priceGas(chain.world, gwei));
}

/** Bonds to an agent between its committee's decision and the settlement, claims, and leaves. */
async function stakeLate({ chain, setting, gwei, random }: Scene): Promise<void> {
  const { world, latecomer, studied } = chain;
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
    chain,
    drawn,
    decisionOfSeats(drawn, {}),
    drawn.committee.map((_, seat) => seat),
    await priceGas(world, gwei),
  );
  await close(chain, committed, gwei);
  const { shares } = await registry.positionOf(agent, latecomer.address);
  await registry.startUnbonding(agent, shares, await priceGas(world, gwei));
  if ((await registry.rewardsOf(agent, latecomer.address, 0)) !== 0n)
    await registry.claimRewards(agent, 0, latecomer.address, await priceGas(world, gwei));
  await passTime(world, unbondingDelay);
  await registry.withdrawStake(agent, latecomer.address, await priceGas(world, gwei));
}
