// One request of the scenario, from asking to settling, with a fate drawn at random.
import { hexlify, keccak256, toUtf8Bytes } from "ethers";

import { FLAT, SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { holdsHonest, isSupermajority } from "../../agents/core/quorum.ts";
import { ABSENT } from "../../agents/core/types.ts";
import type { Random } from "../../sim/random.ts";
import {
  appeal,
  ask,
  commitArgs,
  committedBy,
  decisionFor,
  draw,
  fallBackArgs,
  givenUp,
  hung,
  latestOf,
  passDeadline,
  priceGas,
  quorum,
  recordOf,
  refundArgs,
  replace,
  termsFor,
  tooEarly,
  unanswerable,
  type Asked,
  type Committed,
  type Drawn,
} from "../../test/support/contracts/course.ts";
import {
  Currency,
  Status,
  agentOf,
  packTerms,
  word,
  type SignedDecision,
  type Terms,
} from "../../test/support/contracts/typed-data.ts";
import type { World } from "../../test/support/contracts/world.ts";
import type { Asker, Economy } from "./economy.ts";

/** What a seat gets: most are right and sure. */
const SHARES = [SURE_RIGHT, SURE_RIGHT, SURE_RIGHT, SAFE_RIGHT, 0];

/** Percent. */
const FINALITY = 90;
/** Parts per million. */
const UNSURE = 600_000;
const HOUR = 3600;

/** Fates of requests: how many of a hundred have each, and the terms that it takes. */
const FATES = {
  decided: { weight: 45, terms: {} },
  hung: { weight: 7, terms: {} },
  unanswerable: { weight: 3, terms: {} },
  retried: { weight: 6, terms: { retries: 1 } },
  replaced: { weight: 5, terms: { retries: 1 } },
  "too early": { weight: 3, terms: { retries: 2 } },
  delayed: { weight: 3, terms: { retries: 1, delay: 2 * HOUR } },
  refunded: { weight: 5, terms: {} },
  finalized: { weight: 5, terms: { appeals: 1 } },
  upheld: { weight: 5, terms: { appeals: 1 } },
  lost: { weight: 4, terms: { appeals: 1 } },
  unanswered: { weight: 3, terms: { appeals: 1 } },
  sure: { weight: 3, terms: { appeals: 1, finality: FINALITY } },
  unsure: { weight: 3, terms: { appeals: 1, finality: FINALITY } },
} as const satisfies Record<string, { readonly weight: number; readonly terms: Partial<Terms> }>;
type Fate = keyof typeof FATES;
export const ALL_FATES = Object.keys(FATES) as readonly Fate[];

type Answer = Pick<SignedDecision, "outcome" | "answer">;

/** Answer kinds by their code, with two different answers; texts cannot be appealed against. */
const kinds: readonly { readonly name: string; readonly terms: Partial<Terms>; readonly answers: readonly Answer[] }[] =
  [
    { name: "boolean", terms: { kind: 0 }, answers: [answer("yes", 1n), answer("no", 0n)] },
    { name: "choice", terms: { kind: 1, options: 4 }, answers: [answer("C", 2n), answer("A", 0n)] },
    {
      name: "number",
      terms: { kind: 2, decimals: 2, tolerance: 50 },
      answers: [answer("12.5", 1250n), answer("13.5", 1350n)],
    },
    { name: "policies", terms: { kind: 4, options: 3 }, answers: [answer("A,C", 5n), answer("B", 2n)] },
    { name: "text", terms: { kind: 3 }, answers: [answer("Because."), answer("In spite of it.")] },
  ];

export interface Played {
  readonly fate: Fate;
  readonly kind: string;
  /** null if the fee went back. */
  readonly final: Committed | null;
}

/** Plays a request to its end, settlement included. */
export async function play(economy: Economy, random: Random, fate = pickFate(random)): Promise<Played> {
  const terms: Partial<Terms> = FATES[fate].terms;
  const kind = random.pick(terms.appeals === undefined ? kinds : kinds.slice(0, -1));
  const size = { committeeSize: random.chance(250_000) ? 7 : 4 };
  const asker = random.pick(economy.askers);
  const asked = await askBy(economy.world, asker, { ...kind.terms, ...terms, ...size }, random);
  const [right, wrong] = kind.answers as [Answer, Answer];
  const final = await lead(economy, asked, fate, { right, wrong }, random);
  if (final !== null) await settle(economy.world, final);
  return { fate, kind: kind.name, final };
}

/** Settles the request, if its last commit did not. */
export async function settle({ oracle, settlement }: World, final: Committed): Promise<void> {
  const { settled } = await oracle.statusOf(final.request.id);
  if (settled !== true) await settlement.settle(...recordOf(final));
}

/** Asks with a fee of once to twice the quote. */
export async function askBy(world: World, asker: Asker, chosen: Partial<Terms>, random: Random): Promise<Asked> {
  const terms = {
    ...chosen,
    currency: asker.currency,
    callbackGasLimit: asker.consumer === null ? 0 : 100_000,
  };
  const least = (await world.oracle.quote(packTerms(termsFor({ ...terms, fee: 0n })))) as bigint;
  const fee = least + (least * BigInt(random.below(1000))) / 1000n;
  const oracle = world.oracle.connect(asker.signer);
  const value = asker.subscriptionId === 0n && asker.currency === Currency.Native ? fee : 0n;
  const { consumer, subscriptionId } = asker;
  return ask(world, { ...terms, fee }, `Question ${random.below(1_000_000)}?`, async (packed, question) => {
    if (consumer === null) return oracle.request(subscriptionId, packed, question, { value });
    const contract = await world.ethers.getContractAt("SlotConsumer", consumer, asker.signer);
    return contract.getFunction("ask").send(subscriptionId, packed, question);
  });
}

/** Returns the final record; null if the fee went back. */
async function lead(
  economy: Economy,
  asked: Asked,
  fate: Fate,
  { right, wrong }: { readonly right: Answer; readonly wrong: Answer },
  random: Random,
): Promise<Committed | null> {
  const { world } = economy;
  const by = (running: Asked, decision: Partial<SignedDecision>) => submit(economy, running, decision, random);
  const appealTo = (committed: Committed): Promise<Asked> =>
    appeal(world, committed, world.oracle.connect(random.pick(economy.appellants)));
  switch (fate) {
    case "decided":
    case "sure":
      return by(asked, right);
    case "hung":
      return by(asked, hung);
    case "unanswerable":
      return by(asked, unanswerable);
    case "retried":
      return by((await by(asked, hung)).reopened!, right);
    case "replaced":
      return by(await replace(world, await silent(world, asked, random)), right);
    case "too early":
      return by(await replace(world, (await by(asked, tooEarly)).reopened!), right);
    case "delayed":
      return by(await replace(world, asked), right);
    case "unsure": {
      const first = random.chance(300_000) ? wrong : right;
      return by((await by(asked, { ...first, confidence: UNSURE })).reopened!, right);
    }
    case "refunded": {
      const running = await silent(world, asked, random);
      await passDeadline(world, running.round);
      await world.oracle.refund(...refundArgs(running));
      return null;
    }
    case "finalized": {
      const committed = await by(asked, right);
      await passDeadline(world, committed.rounds.at(-1)!.round);
      await world.oracle.finalize(...latestOf(committed));
      return committed;
    }
    case "upheld":
      return by(await appealTo(await by(asked, wrong)), right);
    case "lost":
      return by(await appealTo(await by(asked, right)), random.chance(300_000) ? hung : right);
    case "unanswered": {
      const running = await silent(world, await appealTo(await by(asked, right)), random);
      await passDeadline(world, running.round);
      await world.oracle.fallBack(...fallBackArgs(running));
      return givenUp(running);
    }
  }
}

/** Leaves the request drawn, or not even drawn. */
async function silent(world: World, asked: Asked, random: Random): Promise<Asked | Drawn> {
  return random.chance(500_000) ? draw(world, asked) : asked;
}

/**
 * Commits through one of the relayers, with shares, sometimes a reputation change, and lessons where most agree and some do not. Sluggish agents that the quorum
 * does not need do not sign, and it attests that they are absent. If a third of the seats or fewer were right, who worked earns alike (PY6).
 * @param isEasy all that work are right at first
 */
export async function submit(
  economy: Economy,
  asked: Asked,
  decision: Partial<SignedDecision>,
  random: Random,
  isEasy = false,
): Promise<Committed> {
  const world = { ...economy.world, oracle: economy.world.oracle.connect(random.pick(economy.relayers)) };
  const drawn = await draw(world, asked);
  const size = drawn.committee.length;
  const isSluggish = (seat: number): boolean =>
    economy.sluggish.some(({ id }) => id === agentOf(drawn.committee[seat]!));
  const seats = Array.from({ length: size }, (_, seat) => seat);
  const signers = [...seats.filter((seat) => !isSluggish(seat)), ...seats.filter(isSluggish)].slice(0, quorum(size));
  const drawnShares = seats.map((seat) => {
    const share = isEasy ? SURE_RIGHT : random.pick(SHARES);
    return isSluggish(seat) && !signers.includes(seat) ? ABSENT : share;
  });
  const isRight = (share: number): boolean => share === SURE_RIGHT || share === SAFE_RIGHT;
  const isScored = holdsHonest(drawnShares.filter(isRight).length, size);
  const merits = drawnShares.map((share) => (isScored || share === ABSENT ? share : FLAT));
  const agreed = seats.filter((seat) => isRight(merits[seat]!));
  const wrong = seats.filter((seat) => merits[seat] === 0);
  const isContested = decision.status !== Status.Hung && wrong.length > 0 && isSupermajority(agreed.length, size);
  const lessons = isContested ? { answered: bitsOf([...agreed, ...wrong]), agreed: bitsOf(agreed) } : {};
  const reputationChanges = random.chance(150_000)
    ? hexlify(Uint8Array.of(random.below(size), random.chance(500_000) ? 0xff : 1))
    : "0x";
  const gasPrice = BigInt(random.between(2, 40)) * 10n ** 9n;
  const shares = hexlify(Uint8Array.from(merits));
  const signed = decisionFor(drawn, { ...decision, ...lessons, shares, reputationChanges });
  const inOrder = signers.toSorted((left, right) => left - right);
  const args = commitArgs(world, drawn, signed, inOrder);
  const sent = await world.oracle.commit(...args, await priceGas(world, gasPrice));
  return committedBy(world, drawn, signed, await sent.wait());
}

function bitsOf(seats: readonly number[]): bigint {
  return seats.reduce((bits, seat) => bits | (1n << BigInt(seat)), 0n);
}

function pickFate(random: Random): Fate {
  let left = random.below(Object.values(FATES).reduce((sum, { weight }) => sum + weight, 0));
  for (const [fate, { weight }] of Object.entries(FATES)) {
    if (left < weight) return fate as Fate;
    left -= weight;
  }
  throw new Error("The weights do not add up");
}

/** Returns an answer; the outcome of a text is the hash of the answer. */
function answer(text: string, outcome?: bigint): Answer {
  const bytes = toUtf8Bytes(text);
  return { answer: hexlify(bytes), outcome: outcome === undefined ? keccak256(bytes) : word(outcome) };
}
