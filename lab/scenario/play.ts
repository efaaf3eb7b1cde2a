// One request of the scenario, from asking to settling, with a fate drawn at random.
import { hexlify, keccak256, toUtf8Bytes } from "ethers";

import { SAFE_RIGHT, SURE_RIGHT } from "../../agents/core/phases/pay.ts";
import { isSupermajority } from "../../agents/core/quorum.ts";
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

/** Fates of requests, and how many of a hundred have each. */
export const fates = {
  decided: 55,
  hung: 8,
  retried: 7,
  replaced: 5,
  refunded: 6,
  finalized: 6,
  upheld: 5,
  lost: 5,
  unanswered: 3,
} as const;
export type Fate = keyof typeof fates;

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

/** Plays a request to its end, settlement included, and returns its fate and kind. */
export async function play(economy: Economy, random: Random): Promise<{ readonly fate: Fate; readonly kind: string }> {
  const fate = pickFate(random);
  const appeals = ["finalized", "upheld", "lost", "unanswered"].includes(fate) ? 1 : 0;
  const kind = random.pick(appeals === 0 ? kinds : kinds.slice(0, -1));
  const asker = random.pick(economy.askers);
  const terms = {
    ...kind.terms,
    appeals,
    retries: fate === "retried" || fate === "replaced" ? 1 : 0,
    committeeSize: random.chance(250_000) ? 7 : 4,
    currency: asker.currency,
    callbackGasLimit: asker.consumer === null ? 0 : 100_000,
  };
  const asked = await askBy(economy.world, asker, terms, random);
  const [right, wrong] = kind.answers as [Answer, Answer];
  const final = await lead(economy, asked, fate, { right, wrong }, random);
  const { settled } = await economy.world.oracle.statusOf(asked.request.id);
  if (final !== null && settled !== true) await economy.world.settlement.settle(...recordOf(final));
  return { fate, kind: kind.name };
}

/** Asks with a fee of once to twice the quote. */
async function askBy(world: World, asker: Asker, terms: Partial<Terms>, random: Random): Promise<Asked> {
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
      return by(asked, right);
    case "hung":
      return by(asked, hung);
    case "retried":
      return by((await by(asked, hung)).reopened!, right);
    case "replaced":
      return by(await replace(world, await silent(world, asked, random)), right);
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
 * does not need do not sign, and it attests that they are absent.
 */
async function submit(
  economy: Economy,
  asked: Asked,
  decision: Partial<SignedDecision>,
  random: Random,
): Promise<Committed> {
  const world = { ...economy.world, oracle: economy.world.oracle.connect(random.pick(economy.relayers)) };
  const drawn = await draw(world, asked);
  const size = drawn.committee.length;
  const isSluggish = (seat: number): boolean =>
    economy.sluggish.some(({ id }) => id === agentOf(drawn.committee[seat]!));
  const seats = Array.from({ length: size }, (_, seat) => seat);
  const signers = [...seats.filter((seat) => !isSluggish(seat)), ...seats.filter(isSluggish)].slice(0, quorum(size));
  const merits = seats.map((seat) => {
    const share = random.pick(SHARES);
    return isSluggish(seat) && !signers.includes(seat) ? ABSENT : share;
  });
  const agreed = seats.filter((seat) => merits[seat] === SURE_RIGHT || merits[seat] === SAFE_RIGHT);
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
  let left = random.below(Object.values(fates).reduce((sum: number, weight) => sum + weight, 0));
  for (const [fate, weight] of Object.entries(fates)) {
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
