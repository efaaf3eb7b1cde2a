import type { Mutant } from "./mutant.ts";

const READINGS = "agents/core/phases/readings.ts";

/** Planted faults in the rules of questions with sources. */
export const sourceMutants: readonly Mutant[] = [
  {
    id: "SG9-bears",
    bug: "an answer counts whatever it cites, as long as something can be cited",
    file: READINGS,
    find: "return citations.length > 0 && citations.every((citation) => this.isHonest(this.readersOf(citation)));",
    replace: "return citations.length >= 0;",
    sim: "--protocol mbft --n 4 --byzantine 1 --sources moving",
    expect: ["sources"],
  },
  {
    id: "SG9-peer",
    bug: "one seat's word is evidence of what stands at a source",
    file: READINGS,
    find: "return holdsHonest(seats, this.attempt.committee.length);",
    replace: "return seats > 0;",
    sim: "--protocol mbft --n 4 --byzantine 1 --sources differing",
    expect: ["sources"],
  },
  {
    id: "SG5-held",
    bug: "what seats say that they read counts however late they say it",
    file: READINGS,
    find: "holdsHonest(holdersOf(book, gatherForm, one), book.attempt.committee.length)",
    replace: "holdersOf(book, gatherForm, one) >= 0",
    sim: "--protocol mbft --n 4 --byzantine 1 --sources slow,gone",
    expect: ["sources"],
  },
  {
    id: "SG5-void",
    bug: "two messages of what a seat read cost it nothing",
    file: "agents/core/phases/round-book.ts",
    find: "const before = round === 0 ? (gathered?.equivocators ?? []) : [];",
    replace: "const before: readonly SeatIndex[] = gathered === undefined || round >= 0 ? [] : gathered.equivocators;",
    sim: "--protocol mbft --n 4 --byzantine 1 --byzantine-kinds equivocating,twin --sources right",
    expect: ["accountability"],
  },
  {
    id: "SG12-own",
    bug: "a number counts that its seat did not say it read",
    file: READINGS,
    find: "return isOwn && this.isHonest(this.agreeingWith(answer));",
    replace: "return this.isHonest(this.agreeingWith(answer)) && (isOwn || citations.length > 0);",
    sim: "--protocol mbft --n 4 --byzantine 1 --kind number --sources right",
    expect: ["sources"],
  },
  {
    id: "SG13-verify",
    bug: "a seat accepts every number, whatever it read",
    file: "agents/core/phases/data.ts",
    find: `verify: (agrees) => ({ verdict: agrees ? "accept" : "abstain" }),`,
    replace: `verify: (agrees) => ({ verdict: agrees ? "accept" : "accept" }),`,
    sim: "--protocol mbft --n 4 --byzantine 1 --kind number --sources differing,slow",
    expect: ["mbft", "validity"],
  },
  {
    id: "SG4-commitment",
    bug: "a commitment binds to no citations",
    file: "agents/core/phases/proposals.ts",
    find: "return digestOf({ requestId, attempt: attempt.attempt, round, seat, ...encodeProposal(proposal), salt });",
    replace:
      "const { answer, proof, tier } = proposal; return digestOf({ requestId, attempt: attempt.attempt, round, seat, answer, proof, tier, salt });",
    sim: "--protocol mbft --n 4 --byzantine 1 --sources right",
    expect: ["pay"],
  },
  {
    id: "SG4-words",
    bug: "a quotation counts that does not stand in its passage",
    file: "agents/core/sources/citations.ts",
    find: `if (quotation === "" || !passage.includes(quotation)) return false;`,
    replace: `if (quotation === "") return false;`,
    sim: "--protocol mbft --n 4 --byzantine 1 --sources right",
    seed: 53,
    expect: ["sources"],
  },
];
