import fc from "fast-check";

const SURROGATES = { first: 0xd800, count: 0x800 } as const;

/** Any code point but half of a surrogate pair. fast-check's own unit "binary" fills a table of them, which takes a second. */
const codePoint = fc.integer({ min: 0, max: 0x10_ffff - SURROGATES.count }).map(
  (index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count),
  // Without a way back a text is not also made of words that are dangerous as names, such as __proto__.
  (text) => {
    const [point = Number.NaN, ...more] = Array.from(String(text), (one) => one.codePointAt(0) as number);
    if (more.length > 0 || !(point < SURROGATES.first || point >= SURROGATES.first + SURROGATES.count))
      throw new RangeError(`Take one code point, not ${JSON.stringify(text)}`);
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);

/** Texts of any code points. */
export function anyText(bounds: { readonly maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: codePoint, ...bounds });
}
