// Rewrites a text at nested places: each wrap gets the text of its range, with everything inside already rewritten.
import type { Range } from "./ast.ts";

export interface Wrap extends Range {
  readonly wrap: (inner: string) => string;
}

/** Ranges may nest but not overlap; of two equal ranges the earlier in the list is the outer one. */
export function rewrite(source: string, wraps: readonly Wrap[]): string {
  // Sorting keeps the order of equal ranges.
  const sorted = wraps.toSorted((one, other) => one.start - other.start || other.end - one.end);
  let next = 0;
  const render = (start: number, end: number): string => {
    let text = "";
    let at = start;
    while (next < sorted.length && sorted[next]!.start < end) {
      const wrap = sorted[next]!;
      if (wrap.end > end) throw new Error(`Cannot rewrite ${wrap.start}..${wrap.end}: it leaves ${start}..${end}`);
      next++;
      text += source.slice(at, wrap.start) + wrap.wrap(render(wrap.start, wrap.end));
      at = wrap.end;
    }
    return text + source.slice(at, end);
  };
  return render(0, source.length);
}
