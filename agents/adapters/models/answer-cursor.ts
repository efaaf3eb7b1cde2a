import type { Part } from "./grammar.ts";

/** How far an answer has come, and what must come next whatever the model says. */
export class AnswerCursor {
  private readonly parts: readonly Part[];
  private index = 0;
  /** Of the part at the index. */
  private taken = "";
  private isEscaped = false;

  constructor(parts: readonly Part[]) {
    this.parts = parts;
  }

  /** Text that the grammar of `rest` permits. */
  take(text: string): void {
    for (const character of text) {
      const part = this.parts[this.index];
      this.taken += character;
      const closes = part?.kind === "free" ? character === '"' && !this.isEscaped : part?.texts.includes(this.taken);
      this.isEscaped = part?.kind === "free" && character === "\\" && !this.isEscaped;
      if (closes !== true) continue;
      this.index++;
      this.taken = "";
    }
  }

  ended(): boolean {
    return this.index >= this.parts.length;
  }

  /** Of the part that comes next or goes on; empty at the end. */
  property(): string {
    return this.parts[this.index]?.property ?? "";
  }

  isWithinFreeText(): boolean {
    return this.parts[this.index]?.kind === "free" && this.taken !== "";
  }

  /** What is to come; not within free text, as how much of its length is left is not kept. */
  rest(): readonly Part[] {
    const [part, ...later] = this.parts.slice(this.index);
    if (part === undefined) return [];
    if (part.kind === "one-of") return [{ ...part, texts: this.left(part.texts, this.taken) }, ...later];
    if (this.isWithinFreeText()) throw new Error("Continue free text with the grammar that it began with");
    return [part, ...later];
  }

  /** The text that comes next, as far as the schema leaves no choice; `isRest`: nothing comes after it. */
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
