import {
  questionProblem,
  termsProblem,
  type AskedTerms,
  type ProtocolId,
  type Quote,
  type TermWords,
} from "../../../sdk/src/index.ts";
import { questionWith, sourcesProblem } from "../../../sdk/src/sources.ts";

/** Terms of a request that the form has a field for, under their own names: all but these three. The form asks for a duration in hours. */
type FormTerm = Exclude<keyof AskedTerms, "fee" | "callbackGasLimit" | "duration">;

/** A question as it is typed. */
export interface Draft extends Readonly<Record<FormTerm, string>> {
  readonly question: string;
  readonly kind: AskedTerms["kind"];
  /** Options of a choice or of policies. */
  readonly options: string;
  /** Decimals and tolerance of a number; the tolerance in the number's own unit. */
  readonly decimals: string;
  readonly tolerance: string;
  readonly protocol: ProtocolId;
  readonly committeeSize: string;
  readonly assurance: "normal" | "high";
  readonly appeals: string;
  readonly retries: string;
  /** In hours. */
  readonly hours: string;
  readonly currency: "token" | "native";
  /** One a line. */
  readonly sources: string;
  /** Hours before the committee is called. */
  readonly delay: string;
  /** Percent of confidence with which a decision is final at once; 0: it waits for an appeal. */
  readonly finality: string;
  readonly nonAnswers: "accepted" | "refused";
  readonly security: "none" | "secured";
}

export const EMPTY: Draft = {
  question: "",
  kind: "boolean",
  options: "3",
  decimals: "0",
  tolerance: "0",
  protocol: "mbft",
  committeeSize: "4",
  assurance: "normal",
  appeals: "0",
  retries: "1",
  hours: "1",
  currency: "native",
  sources: "",
  delay: "0",
  finality: "0",
  nonAnswers: "accepted",
  security: "none",
};

/** What the form says of the kinds of answers; the compiler tells which one is missing. */
export const KINDS: Readonly<Record<Draft["kind"], { readonly name: string; readonly hint: string }>> = {
  boolean: { name: "Yes or no", hint: "The answer is yes or no." },
  choice: { name: "One of several options", hint: "List the options in the question, by letter: (A) …, (B) …" },
  number: { name: "A number", hint: "The answer is a number. Say its unit in the question." },
  text: { name: "A text", hint: "The answer is a short text. It cannot be appealed against." },
  policies: {
    name: "Which of several policies",
    hint: "List the policies in the question, by letter. The answer names those to adopt.",
  },
};

/** What may be chosen for a term, in words. */
export const CHOICES = {
  assurance: { normal: "Normal: a majority", high: "High: more than two thirds" },
  currency: { native: "The chain’s coin", token: "The fee token" },
  nonAnswers: { accepted: "May be the decision", refused: "Is no decision" },
  security: { none: "None", secured: "Secured" },
} as const satisfies { readonly [Term in keyof Draft]?: Readonly<Record<Draft[Term] & string, string>> };

/** How the form names its fields. */
export const LABELS: Readonly<Record<keyof Draft, string>> = {
  question: "Question",
  kind: "Kind of answer",
  options: "How many",
  decimals: "Decimals",
  tolerance: "Tolerance",
  protocol: "Protocol",
  committeeSize: "Seats",
  assurance: "Assurance",
  appeals: "Appeals",
  retries: "Retries",
  hours: "Hours to decide",
  currency: "Paid in",
  sources: "Sources, one a line",
  delay: "Hours before it starts",
  finality: "Final at once from (percent sure)",
  nonAnswers: "“It cannot be told”",
  security: "Stake behind the answer",
};

const WORDS: TermWords = {
  give: (term, value) => `“${LABELS[fieldOf(term)]}” ${value}`,
  time: (seconds) => `${Math.floor(seconds / 36) / 100} hours`,
};

function fieldOf(term: string): keyof Draft {
  return term === "duration" ? "hours" : (term as keyof Draft);
}

/** A field whose content cannot be asked, and why. */
export interface Flaw {
  readonly field: keyof Draft;
  readonly problem: string;
}

const WHOLE = /^\d{1,9}$/;
const TENTHS = /^\d{1,4}(\.\d{1,2})?$/;

/** Returns what is wrong with the question itself, or with the sources that it names; null if nothing is. */
export function questionFlaw(draft: Pick<Draft, "question" | "sources">): Flaw | null {
  const { question } = draft;
  const sources = sourcesIn(draft);
  const problem = questionProblem(question);
  if (problem !== null) return { field: "question", problem: String(problem.data["way"]) };
  const field = sources.length === 0 ? "question" : "sources";
  const unread = sourcesProblem(question, sources);
  if (unread !== null) return { field, problem: [unread.value, unread.way].filter(Boolean).join(": ") };
  // The sources are a part of it.
  const long = questionProblem(questionWith(question, sources));
  return long === null ? null : { field, problem: String(long.data["way"]) };
}

/** Returns what is wrong where too few agents can be drawn now: the contract refuses that (SE2); null if enough can. */
export function agentsFlaw({ agentsNeeded, drawableAgents }: Quote): Flaw | null {
  if (drawableAgents >= agentsNeeded) return null;
  const problem = `${agentsNeeded} agents are needed, those of all appeals included, and ${drawableAgents} can be drawn now; take fewer seats or appeals, or wait for more agents`;
  return { field: "committeeSize", problem };
}

type Read = { readonly terms: AskedTerms; readonly flaw: null } | { readonly terms: null; readonly flaw: Flaw };

/** Returns the terms of the draft, or its first flaw. The contract checks the rest. */
export function termsIn(typed: Draft): Read {
  const draft = withoutBlanks(typed);
  const flaws: Flaw[] = [];
  const whole = (field: "options" | "decimals" | "committeeSize" | "appeals" | "retries" | "finality"): number => {
    if (!WHOLE.test(draft[field])) flaws.push({ field, problem: "give a whole number" });
    return Number(draft[field]);
  };
  const secondsIn = (field: "hours" | "delay"): number => {
    if (!TENTHS.test(draft[field])) flaws.push({ field, problem: "give hours, e.g. 0.5" });
    return Math.round(Number(draft[field]) * 3_600);
  };
  const { kind, protocol, assurance, currency, nonAnswers, security } = draft;
  const [delay, finality] = [secondsIn("delay"), whole("finality")];
  const terms: AskedTerms = {
    kind,
    protocol,
    assurance,
    currency,
    committeeSize: whole("committeeSize"),
    appeals: whole("appeals"),
    retries: whole("retries"),
    duration: secondsIn("hours"),
    ...(delay > 0 && { delay }),
    ...(finality > 0 && { finality }),
    ...(nonAnswers === "refused" && { nonAnswers }),
    ...(security === "secured" && { security }),
    ...(hasOptions(kind) && { options: whole("options") }),
    ...(kind === "number" && { decimals: whole("decimals"), tolerance: toleranceIn(draft, flaws) }),
  };
  const flaw = flaws[0] ?? refused(draft, terms);
  return flaw === null ? { terms, flaw } : { terms: null, flaw };
}

function refused(draft: Draft, terms: AskedTerms): Flaw | null {
  const problem = termsProblem(terms, WORDS);
  if (problem === null) return null;
  const field = fieldOf(problem.field ?? "kind");
  return { field, problem: `${draft[field]} is refused: ${String(problem.data["way"])}` };
}

/** Whoever pastes a number often pastes a blank, too. */
function withoutBlanks(draft: Draft): Draft {
  return Object.fromEntries(Object.entries(draft).map(([field, text]) => [field, text.trim()])) as unknown as Draft;
}

/** The sources, one a line. */
export function sourcesIn({ sources }: Pick<Draft, "sources">): readonly string[] {
  return sources
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

export function hasOptions(kind: Draft["kind"]): boolean {
  return kind === "choice" || kind === "policies";
}

/** In units of 10^-decimals. */
function toleranceIn({ tolerance, decimals }: Draft, flaws: Flaw[]): bigint {
  const places = WHOLE.test(decimals) ? Number(decimals) : 0;
  const [, whole = "", fraction = ""] = /^(\d{1,12})(?:\.(\d{1,18}))?$/.exec(tolerance) ?? [];
  if (whole === "" || fraction.length > places) {
    flaws.push({ field: "tolerance", problem: `give a number with at most ${places} decimals` });
    return 0n;
  }
  return BigInt(whole + fraction.padEnd(places, "0"));
}
