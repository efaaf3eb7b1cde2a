const BEGIN = "<think>";
const END = "</think>";

/** The answer in a server's text, without the thoughts that some servers leave before it. */
export class AnswerText {
  answer = "";
  /** Characters of thought. */
  thoughtLength = 0;
  private hasBegun = false;
  private isThought = false;
  private hasEnd = false;
  private head = "";
  private tail = "";

  /** Takes the next text, and returns what of it belongs to the answer. Thoughts are not kept. */
  add(text: string): string {
    if (this.head.length < BEGIN.length) this.head = (this.head + text).trimStart().slice(0, BEGIN.length);
    if (this.hasBegun) {
      this.answer += text;
      return text;
    }
    this.tail += text;
    for (;;) {
      const rest = this.tail.trimStart();
      if (!this.isThought && rest.startsWith("{")) return this.begin(rest);
      this.isThought = rest !== "";
      const at = this.tail.indexOf(END);
      if (at < 0) return this.forget(this.tail.length - END.length + 1);
      this.hasEnd = true;
      this.isThought = false;
      this.forget(at + END.length);
    }
  }

  /** Whether the text had thoughts, marked as such. */
  hasThought(): boolean {
    return this.hasEnd || this.head === BEGIN;
  }

  private begin(rest: string): string {
    this.hasBegun = true;
    this.answer = rest;
    this.tail = "";
    return rest;
  }

  private forget(length: number): "" {
    const forgotten = Math.max(0, length);
    this.thoughtLength += forgotten;
    this.tail = this.tail.slice(forgotten);
    return "";
  }
}
