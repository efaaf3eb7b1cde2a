/** How models mark private thoughts, in chat templates and in what servers send. */
export const THOUGHT_TAGS: readonly (readonly [begin: string, end: string])[] = [
  // Qwen, DeepSeek
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<reasoning>", "</reasoning>"],
  ["<thought>", "</thought>"],
  // Magistral
  ["[THINK]", "[/THINK]"],
  // Kimi
  ["◁think▷", "◁/think▷"],
  // Seed
  ["<seed:think>", "</seed:think>"],
];

/** gpt-oss: thoughts are messages of other channels, and the answer is that of the last one. */
const CHANNEL = "<|channel|>analysis";
const FINAL = /<\|channel\|>final(?: <\|constrain\|>json)?<\|message\|>/u;

const ENDS: ReadonlyMap<string, RegExp> = new Map([
  ...THOUGHT_TAGS.map(([begin, end]): [string, RegExp] => [begin, new RegExp(escaped(end), "u")]),
  [CHANNEL, FINAL],
]);
/** A template may have written the mark that begins the thoughts: then any end will do. */
const ANY_END = new RegExp([...ENDS.values()].map(({ source }) => source).join("|"), "u");

/** No mark is longer. */
export const LONGEST_MARK = 64;

/** The mark that ends the thoughts with which a text begins. */
export interface ThoughtEnd {
  readonly end: RegExp;
  /** Whether a mark begins them. */
  readonly isMarked: boolean;
}

/** Returns how thoughts end that begin with this text; null if too little of it is there to tell. */
export function thoughtEnd(text: string): ThoughtEnd | null {
  for (const [begin, end] of ENDS) {
    if (text.startsWith(begin)) return { end, isMarked: true };
    if (begin.startsWith(text)) return null;
  }
  return { end: ANY_END, isMarked: false };
}

function escaped(text: string): string {
  return text.replaceAll(/[[\]/|]/gu, String.raw`\$&`);
}
