import type { LlamaModel, Token } from "node-llama-cpp";

import type { OutputSchema } from "../../ports/model.ts";
import { AnswerCursor } from "./answer-cursor.ts";
import { partsOf, type Part } from "./grammar.ts";
import { isLoop } from "./loop.ts";
import type { TokenSpan } from "./output.ts";
import { Unfinished } from "./unfinished.ts";

/** Most tokens of one character; what is incomplete after more is not a character. */
const MAX_TOKENS_PER_CHARACTER = 8;
/** Tokens after the last at which a text may be closed: a character may be open there, and an escape. */
const SLACK = MAX_TOKENS_PER_CHARACTER + 1;
/** Length of a free text without a limit, where texts share what tokens there are. */
const USUAL_LENGTH = 1000;

/** The answer so far, as tokens; its text grows by whole characters. */
export class Written {
  text = "";
  outputTokens = 0;
  readonly spans: TokenSpan[] = [];
  readonly cursor: AnswerCursor;
  private readonly model: LlamaModel;
  private readonly limit: number;
  private readonly onText: (text: string) => void;
  private readonly before: Token[];
  /** The free text that is being written, and the count of tokens at which it is closed. */
  private bound: { readonly property: string; readonly atTokens: number } | null = null;
  private open: { readonly token: Token; readonly probability: number | null }[] = [];

  constructor(
    model: LlamaModel,
    schema: OutputSchema,
    prompt: readonly Token[],
    limit: number,
    onText: (text: string) => void,
  ) {
    this.model = model;
    this.cursor = new AnswerCursor(partsOf(schema));
    this.before = prompt.slice(-MAX_TOKENS_PER_CHARACTER);
    this.limit = limit;
    this.onText = onText;
  }

  /** Adds a token; `probability` is null if it is not measured. Throws Unfinished (truncated). */
  add(token: Token, probability: number | null): void {
    this.outputTokens++;
    this.open.push({ token, probability });
    const piece = this.textOf(this.open.map((one) => one.token));
    if (!piece.endsWith("\ufffd") || this.open.length >= MAX_TOKENS_PER_CHARACTER) this.close(piece);
    if (this.outputTokens >= this.limit && !this.cursor.ended())
      throw new Unfinished("truncated", `the answer is not complete after ${this.limit} tokens`);
  }

  /** True if another run may continue from here. */
  canTurn(): boolean {
    return this.open.length === 0 && !this.cursor.isWithinText();
  }

  /**
   * Closes a free text that has used up its share of the tokens, so that what comes after it always fits, or that goes
   * round in a loop. Returns whether it did.
   */
  closeIfDue(): boolean {
    const text = this.open.length === 0 ? this.cursor.freeText() : null;
    if (text === null || (this.outputTokens < this.boundOf(this.cursor.property()) && !isLoop(text))) return false;
    this.cursor.closeText();
    return true;
  }

  /** Free texts share the tokens by their lengths, once the most that all other parts can need is set aside. */
  private boundOf(property: string): number {
    if (this.bound?.property === property) return this.bound.atTokens;
    const ahead = this.cursor.ahead();
    const needed = ahead.reduce((sum, part) => sum + this.mostTokens(part), SLACK);
    const [own = 0, ...others] = ahead.flatMap((part) =>
      part.kind === "free" ? [part.maxLength ?? USUAL_LENGTH] : [],
    );
    const share = own / others.reduce((sum, length) => sum + length, Math.max(1, own));
    const atTokens = this.outputTokens + Math.floor((this.limit - this.outputTokens - needed) * share);
    this.bound = { property, atTokens };
    return atTokens;
  }

  /** Returns the most tokens that a part can take, but of a free text only its quote. */
  private mostTokens(part: Part): number {
    if (part.kind !== "one-of") return part.kind === "form" ? (part.maxLength ?? USUAL_LENGTH) + 1 : 1;
    const [text = "", ...others] = part.texts;
    // The model chooses among several texts, in tokens as short as it likes.
    if (others.length > 0) return Math.max(...part.texts.map((one) => Buffer.byteLength(one)));
    return this.model.tokenize(text, false, "trimLeadingSpace").length + 1;
  }

  /**
   * Returns the next tokens, as far as the schema leaves no choice about the text. Unless the text ends there, the
   * model chooses the last of them, since it may form one token with what follows.
   */
  given(): readonly Token[] {
    const { text, isRest } = this.cursor.forced();
    const tokens = this.model.tokenize(text, false, "trimLeadingSpace");
    if (!isRest) tokens.pop();
    // A tokenizer may add a space or split a character.
    while (tokens.length > 0 && !text.startsWith(this.textOf(tokens))) tokens.pop();
    return tokens;
  }

  private textOf(tokens: readonly Token[]): string {
    return this.model.detokenize(tokens, false, this.before.slice(-MAX_TOKENS_PER_CHARACTER));
  }

  private close(piece: string): void {
    const start = this.text.length;
    this.text += piece;
    this.cursor.take(piece);
    for (const { token, probability } of this.open) {
      this.before.push(token);
      if (probability !== null) this.spans.push({ start, end: this.text.length, probability });
    }
    this.open = [];
    this.onText(piece);
  }
}
