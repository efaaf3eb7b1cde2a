/** Ends a generation that has not reached the end of the JSON. */
export class Unfinished extends Error {
  readonly why: "prompt-too-long" | "truncated" | "aborted";

  constructor(why: Unfinished["why"], reason: string) {
    super(reason);
    this.why = why;
  }
}
