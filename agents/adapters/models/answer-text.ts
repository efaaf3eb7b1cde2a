import { LONGEST_MARK, thoughtEnd } from "./thought-marks.ts";

/**
 * The answer in a server's text, without the thoughts that some servers leave before it. Whatever is there before a JSON
 * object is thought. Only as much of it is kept as an unfinished mark may have.
 */
export class AnswerText {
  answer = "";
  /** Characters of thought. */
  thoughtLength = 0;
  /** Whether the text had thoughts, marked as such. */
  hasThought = false;
  private hasBegun = false;
  private end: RegExp | null = null;
  private tail = "";

  /** Takes the next text, and returns what of it belongs to the answer. Thoughts are not kept. */
  add(text: string): string {
    if (this.hasBegun) {
      this.answer += text;
      return text;
    }
    this.tail += text;
    for (;;) {
      if (this.end === null) {
        this.forget(this.tail.length - this.tail.trimStart().length);
        if (this.tail.startsWith("{")) return this.begin();
        const found = thoughtEnd(this.tail);
        if (found === null) return "";
        this.end = found.end;
        this.hasThought ||= found.isMarked;
      }
      const found = this.end.exec(this.tail);
      if (found === null) return this.forget(this.tail.length - LONGEST_MARK + 1);
      this.hasThought ||= found.index > 0;
      this.forget(found.index + found[0].length);
      this.end = null;
    }
  }

  private begin(): string {
    this.hasBegun = true;
    this.answer = this.tail;
    this.tail = "";
    return this.answer;
  }

  private forget(length: number): "" {
    const forgotten = Math.max(0, length);
    this.thoughtLength += forgotten;
    this.tail = this.tail.slice(forgotten);
    return "";
  }
}
