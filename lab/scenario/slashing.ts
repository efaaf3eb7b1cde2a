// How agents lose stake in the scenario: one signs two things, and a committee of liars is overturned.
import { getBytes } from "ethers";

import { holdsHonest } from "../../agents/core/quorum.ts";
import { ABSENT } from "../../agents/core/types.ts";
import { appeal, ask, decide, no, recordOf, termsFor, type Committed } from "../../test/support/contracts/course.ts";
import { equivocation, submitEquivocation } from "../../test/support/contracts/equivocation.ts";
import { Currency, agentOf, packTerms } from "../../test/support/contracts/typed-data.ts";
import { nextEpoch } from "../../test/support/contracts/world.ts";
import type { Random } from "../../sim/random.ts";
import type { Agent, Economy } from "./economy.ts";
import { askBy, settle, submit } from "./play.ts";

/** MAX_COMMITTEE of contracts/types/Limits.sol. */
const largestCommittee = 64;

/** Lets large committees decide until the agent, which is awake, sits in one, and proves that it equivocated there. */
export async function equivocate({ world, reporter }: Economy, { id }: Agent): Promise<void> {
  await nextEpoch(world);
  const committeeSize = Math.min(largestCommittee, Number(await world.registry.drawableCount()));
  const fee = (await world.oracle.quote(packTerms(termsFor({ committeeSize })))) as bigint;
  let course: Committed;
  let seat: number;
  do {
    course = await decide(world, await ask(world, { committeeSize, fee }));
    seat = course.rounds[0]!.committee.findIndex((one) => agentOf(one) === id);
  } while (seat < 0);
  const proof = equivocation(world, course, { index: 0, seat });
  await (await submitEquivocation(world, proof, world.slasher.connect(reporter))).wait();
}

/**
 * Lets four liars answer a secured request, and two appellants call larger committees, which agree. Then the reporter takes a slice of the
 * liars' stake (SC2), and the appellants take their part. All agents are awake.
 * @returns false if nobody loses stake, because too many of those that review the liars are absent or sit again
 */
export async function overturn(economy: Economy, random: Random): Promise<boolean> {
  const { world, reporter, appellants, askers } = economy;
  const asker = random.pick(askers.filter(({ currency }) => currency === Currency.Token));
  let asked = await askBy(world, asker, { security: 1, assurance: 1, appeals: 2 }, random);
  let committed = await submit(economy, asked, no, random);
  for (const appellant of appellants.slice(0, 2)) {
    asked = await appeal(world, committed, world.oracle.connect(appellant));
    committed = await submit(economy, asked, {}, random, true);
  }
  await settle(world, committed);
  if (!areReviewed(committed)) return false;
  await world.slasher.connect(reporter).submitOverturned(...recordOf(committed), 0, 1);
  for (const appellant of appellants.slice(0, 2)) await world.registry.connect(appellant).claim(appellant.address);
  return true;
}

/** True if more than a third of each larger committee works and sat in none before it (SC2). */
function areReviewed({ rounds }: Committed): boolean {
  const earlier = new Set<bigint>();
  return rounds.every(({ committee, decision }, index) => {
    const shares = getBytes(decision.shares);
    const fresh = committee.filter((seat, number) => shares[number] !== ABSENT && !earlier.has(agentOf(seat)));
    for (const seat of committee) earlier.add(agentOf(seat));
    return index === 0 || holdsHonest(fresh.length, committee.length);
  });
}
