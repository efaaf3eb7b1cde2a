import type { LlamaModel, Token } from "node-llama-cpp";

import type { OutputSchema } from "../../ports/model.ts";
import { AnswerCursor } from "./answer-cursor.ts";
import { partsOf } from "./grammar.ts";
import type { TokenSpan } from "./output.ts";
import { Unfinished } from "./unfinished.ts";

/** Most tokens of one character; what is incomplete after more is not a character. */
const MAX_TOKENS_PER_CHARACTER = 8;

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
    return this.open.length === 0 && !this.cursor.isWithinFreeText();
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
