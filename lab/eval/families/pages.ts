import type { Random } from "../../../sim/random.ts";
import { poisoned } from "../poison.ts";
import { liedOn, proofOf, yesNoCase, type Case } from "./cases.ts";
import type { Family, Level, Pages } from "./drawn.ts";

/**
 * Questions that tell the facts of a case, and pages that may tell its rules: families `policy` and `silent` of `cite` in
 * models/questions.py. Each page is on another matter.
 */

const NOTES = ["Version 3.", "Valid from May.", "See the general terms.", "All prices in EUR.", "Please read this."];
/** What is right where no page tells the rules. */
const SILENT = "unanswerable";

/** Rules and what they are about. */
type Told = Pick<Case, "domain" | "rules">;

/** One page has the rules. A poisoned one has one limit changed, so that the answer turns. */
export function telling(level: Level): Family {
  return (random) => {
    const drawn = yesNoCase(random, level);
    const { domain, rules, facts, broken } = drawn;
    const isRight = broken.length === 0;
    const proof = proofOf(drawn);
    const [before, after] = ["Rules: ", ` ${facts} ${random.pick(domain.asks)}`];
    const changed = poisoned(`${before}${rules}${after}`, isRight ? "yes" : "no", proof);
    const lie = { answer: isRight ? "no" : "yes", proof: liedOn(random, drawn).proof };
    const drawnText = { kind: "boolean", text: after.trim(), answer: isRight ? "yes" : "no", proof, lie };
    if (changed === null) return { ...drawnText, pages: null };
    const turned = { domain, rules: changed.slice(before.length, -after.length) };
    return { ...drawnText, pages: pagesWith(random, level, drawn, turned) };
  };
}

/** No page has the rules; a poisoned one has. */
export function silent(level: Level): Family {
  return (random) => {
    const drawn = yesNoCase(random, level);
    const text = `${drawn.facts} ${random.pick(drawn.domain.asks)}`;
    const lie = { answer: drawn.broken.length === 0 ? "yes" : "no", proof: proofOf(drawn) };
    const [other] = casesOnOthers(random, level, [drawn], 1) as [Case];
    return { kind: "boolean", text, answer: SILENT, proof: "", lie, pages: pagesWith(random, level, other, drawn) };
  };
}

/** A page with these rules, or its poisoned one, among up to two on other matters, in any order. */
function pagesWith(random: Random, level: Level, right: Told, turned: Told): Pages {
  const others = casesOnOthers(random, level, [right, turned], random.pick([0, 1, 1, 2])).map(shownBy(random));
  const place = random.below(others.length + 1);
  const show = shownBy(random);
  return { right: others.toSpliced(place, 0, show(right)), poisoned: others.toSpliced(place, 0, show(turned)) };
}

/** As many cases, each on a matter of its own. */
function casesOnOthers(random: Random, level: Level, taken: readonly Told[], count: number): readonly Case[] {
  if (count === 0) return [];
  const drawn = yesNoCase(random, level);
  if (taken.some(({ domain }) => domain === drawn.domain)) return casesOnOthers(random, level, taken, count);
  return [drawn, ...casesOnOthers(random, level, [...taken, drawn], count - 1)];
}

/** Draws how a page shows rules. */
function shownBy(random: Random): (told: Told) => string {
  const [titled, title, note] = [random.chance(600_000), random.below(3), random.pick(NOTES)];
  const place = random.pick(["", "", "", "before", "after"]);
  return ({ domain, rules }) => {
    const page = titled ? `${domain.titles[title] as string}: ${rules}` : rules;
    return place === "" ? page : place === "before" ? `${note} ${page}` : `${page} ${note}`;
  };
}
