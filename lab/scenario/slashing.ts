// How agents lose stake in the scenario: one signs two things, and a committee of liars is overturned.
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
 * liars' stake (SC2), and the appellants take their part. All agents are awake: the three committees share none.
 */
export async function overturn(economy: Economy, random: Random): Promise<void> {
  const { world, reporter, appellants, askers } = economy;
  const asker = random.pick(askers.filter(({ currency }) => currency === Currency.Token));
  let asked = await askBy(world, asker, { security: 1, assurance: 1, appeals: 2 }, random);
  let committed = await submit(economy, asked, no, random);
  for (const appellant of appellants.slice(0, 2)) {
    asked = await appeal(world, committed, world.oracle.connect(appellant));
    committed = await submit(economy, asked, {}, random, true);
  }
  await settle(world, committed);
  await world.slasher.connect(reporter).submitOverturned(...recordOf(committed), 0, 1);
  for (const appellant of appellants.slice(0, 2)) await world.registry.connect(appellant).claim(appellant.address);
}
