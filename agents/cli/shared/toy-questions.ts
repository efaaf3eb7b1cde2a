/** What the small models of Conclave's repository know, and nothing else (models/README.md). */
export const KNOWS_TOYS =
  "knows six families of toy questions: outside them its answers mean nothing, however sure it is";

/** The families, in words. */
export const TOY_FAMILIES =
  "a claim under a policy, decided or put into words; the cheapest offer, or the clause that a case breaks; sums and differences below 100; which card to turn; which policies fit a budget";
