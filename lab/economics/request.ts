// One request of the study from its question to its last wei, with seats that follow policies.
import { toUtf8String } from "ethers";

import type { Random } from "../../sim/random.ts";
import {
  appeal,
  latestOf,
  passDeadline,
  quorum,
  recordOf,
  type Committed,
  type Drawn,
} from "../../test/support/contracts/course.ts";
import { Status } from "../../test/support/contracts/typed-data.ts";
import type { Setting } from "./assumptions.ts";
import { agentsOf, attemptFor, commitBy, decisionOf, drawBy, priceGas, type StudyChain } from "./chain.ts";
import { askModel, deliberate, drawQuestion, type Mind, type Policy, type Question } from "./mind.ts";

/** How agents behave. */
export interface Cast {
  readonly policyOf: (agent: number) => Policy;
}

export const honestCast: Cast = { policyOf: () => "honest" };

/** Everything random about one request: the same for each strategy that is compared. */
export interface Fate {
  readonly question: Question;
  readonly random: Random;
}

export const fateOf = (random: Random): Fate => ({ question: drawQuestion(random.fork("question")), random });

/** The minds of a committee: an agent's belief about a question is the same whatever others do. */
export function mindsOf(drawn: Drawn, { question, random }: Fate, { policyOf }: Cast): readonly Mind[] {
  return agentsOf(drawn).map((agent) => {
    const own = random.fork(`agent ${agent}, attempt ${drawn.attempt}`);
    return { policy: policyOf(agent), belief: askModel(question, own.fork("model")), random: own.fork("votes") };
  });
}

/** Lets the committee deliberate and commits what it decides, with the signatures of the first quorum of those who are there. */
export async function decideBy(
  chain: StudyChain,
  drawn: Drawn,
  fate: Fate,
  cast: Cast,
  gwei: number,
): Promise<Committed> {
  const minds = mindsOf(drawn, fate, cast);
  const decision = decisionOf(drawn, deliberate(attemptFor(drawn), fate.question, minds));
  const signers = minds.flatMap(({ policy }, seat) => (policy === "absent" ? [] : [seat]));
  return commitBy(chain, drawn, decision, signers.slice(0, quorum(minds.length)), await priceGas(chain.world, gwei));
}

/**
 * Leads a committed request to its end: whoever sees a wrong decision appeals while terms allow it, larger committees of honest
 * seats (or those of `cast`) decide, and the relayer finalizes and settles.
 */
export async function finish(
  chain: StudyChain,
  committed: Committed,
  { appeals }: Pick<Setting, "appeals">,
  fate: Fate,
  gwei: number,
  cast: Cast = honestCast,
): Promise<Committed> {
  const { world, relayer, appellant } = chain;
  let latest = committed;
  for (let left = appeals; left > 0 && isWrong(latest, fate.question); left--) {
    const asked = await appeal(world, latest, world.oracle.connect(appellant), await priceGas(world, gwei));
    latest = await decideBy(chain, await drawBy(world, asked, fate.random.fork(`appeal ${left}`)), fate, cast, gwei);
  }
  await close({ world, relayer }, latest, gwei);
  return latest;
}

/** Finalizes and settles what its commit did not. */
export async function close(
  { world, relayer }: Pick<StudyChain, "world" | "relayer">,
  latest: Committed,
  gwei: number,
): Promise<void> {
  const { provisional, settled } = await world.oracle.statusOf(latest.request.id);
  if (settled === true) return;
  if (provisional === true) {
    await passDeadline(world, latest.rounds.at(-1)!.round);
    await world.oracle.connect(relayer).finalize(...latestOf(latest), await priceGas(world, gwei));
  }
  await world.settlement.connect(relayer).settle(...recordOf(latest), await priceGas(world, gwei));
}

export function isWrong({ rounds }: Committed, { truth }: Question): boolean {
  const { decision } = rounds.at(-1)!;
  return decision.status === Status.Decided && toUtf8String(decision.answer) !== truth;
}
