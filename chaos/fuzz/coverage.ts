// Which code of the decoders inputs reach, as V8 counts it.
import { Session, type Profiler } from "node:inspector";

const DECODERS = new URL("../../agents/", import.meta.url).href;

/** The functions of the product that ran, with the ranges of their text that did and did not. */
type Ran = readonly (Profiler.FunctionCoverage & { readonly url: string })[];

/**
 * Counts what runs in this thread from now on. V8 tells blocks of what is loaded later alone, so call this before the decoders are loaded.
 * @returns takes what ran since it was called last, in some ten milliseconds
 */
export function startCoverage(): () => Ran {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  return () => {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    // In one thread the answer comes before `post` returns.
    session.post("Profiler.takePreciseCoverage", (error, counted) => {
      // An error comes without counts.
      if (error !== null) throw error;
      scripts = counted.result;
    });
    return scripts
      .filter(({ url }) => url.startsWith(DECODERS))
      .flatMap(({ url, functions }) => functions.map((one) => ({ ...one, url })));
  };
}

/** What has been reached, character by character: V8 joins blocks that ran equally often, so that blocks have no names. */
export interface Reached {
  /** Characters of code; a function within another counts in both. */
  readonly characters: number;
  /** True if some of what ran is new. */
  lacks(ran: Ran): boolean;
  add(ran: Ran): void;
}

export function createReached(): Reached {
  const functions = new Map<string, Uint8Array>();
  let characters = 0;

  function* newIn(ran: Ran): Generator<readonly [known: Uint8Array, at: number]> {
    for (const { url, ranges } of ran) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0) continue;
      const { startOffset: from, endOffset: to } = whole;
      const now = new Uint8Array(to - from);
      // A range within another comes later.
      for (const { startOffset, endOffset, count } of ranges)
        now.fill(count > 0 ? 1 : 0, startOffset - from, endOffset - from);
      const key = `${url} ${from} ${to}`;
      const known = functions.get(key) ?? new Uint8Array(to - from);
      functions.set(key, known);
      for (const [at, one] of now.entries()) if (one > (known[at] ?? 0)) yield [known, at];
    }
  }

  return {
    get characters() {
      return characters;
    },
    lacks: (ran) => newIn(ran).next().done === false,
    add(ran) {
      for (const [known, at] of newIn(ran)) {
        known[at] = 1;
        characters++;
      }
    },
  };
}
