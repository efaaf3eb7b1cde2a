import type { Part } from "./grammar.ts";

/** Progress of an answer, and the text that must come next whatever the model says. */
export class AnswerCursor {
  private readonly parts: Part[];
  private index = 0;
  /** Text taken of the current part. */
  private taken = "";
  private isEscaped = false;

  constructor(parts: readonly Part[]) {
    this.parts = [...parts];
  }

  /** Takes text that the grammar of `rest` permits. */
  take(text: string): void {
    for (const character of text) {
      const part = this.parts[this.index];
      this.taken += character;
      const closes = part?.kind === "one-of" ? part.texts.includes(this.taken) : character === '"' && !this.isEscaped;
      this.isEscaped = part?.kind !== "one-of" && character === "\\" && !this.isEscaped;
      if (!closes) continue;
      this.index++;
      this.taken = "";
    }
  }

  ended(): boolean {
    return this.index >= this.parts.length;
  }

  /** Returns the property of the current or next part; empty at the end. */
  property(): string {
    return this.parts[this.index]?.property ?? "";
  }

  isWithinText(): boolean {
    const part = this.parts[this.index];
    return part !== undefined && part.kind !== "one-of" && this.taken !== "";
  }

  /** Returns what is written of the free text; null elsewhere. */
  freeText(): string | null {
    return this.parts[this.index]?.kind === "free" ? this.taken : null;
  }

  /** Closes the free text: its quote must come next. An escape that is open becomes a line end, which counts as a space. */
  closeText(): void {
    if (this.freeText() === null) throw new Error("There is no free text to close");
    const end = this.isEscaped ? 'n"' : '"';
    this.parts[this.index] = { kind: "one-of", texts: [end], property: this.property() };
    this.taken = "";
    this.isEscaped = false;
  }

  /** Returns the current or next part and all after it. */
  ahead(): readonly Part[] {
    return this.parts.slice(this.index);
  }

  /** Returns the parts to come. Not to be called within a text, whose remaining length is not tracked. */
  rest(): readonly Part[] {
    const [part, ...later] = this.parts.slice(this.index);
    if (part === undefined) return [];
    if (part.kind === "one-of") return [{ ...part, texts: this.left(part.texts, this.taken) }, ...later];
    if (this.isWithinText()) throw new Error("Continue a text with the grammar that it began with");
    return [part, ...later];
  }

  /** Returns the next text as far as the schema leaves no choice; `isRest` is true if nothing follows it. */
  forced(): { readonly text: string; readonly isRest: boolean } {
    let text = "";
    let { taken } = this;
    for (const part of this.parts.slice(this.index)) {
      const left = part.kind === "one-of" ? this.left(part.texts, taken) : [];
      if (left.length !== 1) return { text, isRest: false };
      text += left[0];
      taken = "";
    }
    return { text, isRest: true };
  }

  private left(texts: readonly string[], taken: string): readonly string[] {
    return texts.filter((text) => text.startsWith(taken)).map((text) => text.slice(taken.length));
  }
}
