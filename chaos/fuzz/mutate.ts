// Changes bytes as hostile senders would: at random, by the structure of integers, and by that of text.
import type { Random } from "../../sim/random.ts";

const MOST_CHANGES = 8;
/** Longest input; the decoders' own bounds are checked with what the targets add. */
const MOST_BYTES = 1 << 16;
const BYTES = [0, 1, 0x7f, 0x80, 0xfe, 0xff] as const;
const INTEGERS = [0n, 1n, 0x7fffffffn, 0xffffffffn, 0x7fffffffffffffffn, 0xffffffffffffffffn, 1n << 40n] as const;
const TOKENS = [
  "null",
  "true",
  "[]",
  "{}",
  "-1",
  "0",
  "1e999",
  "9007199254740993",
  '""',
  '"__proto__"',
  '"\\ud800"',
  "[[[[[[[[",
  "NaN",
  "\u0000",
  "data: ",
  "\n\n",
] as const;

type Mutation = (bytes: Uint8Array, random: Random, other: Uint8Array) => Uint8Array;

const mutations: readonly Mutation[] = [
  // One byte.
  (bytes, random) => bytes.with(random.below(bytes.length), random.below(256)),
  (bytes, random) => bytes.with(random.below(bytes.length), random.pick(BYTES)),
  // One bit.
  (bytes, random) => {
    const at = random.below(bytes.length);
    return bytes.with(at, (bytes[at] as number) ^ (1 << random.below(8)));
  },
  // Less, and more.
  (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  (bytes, random) => {
    const [from, to] = range(bytes, random);
    return join(bytes.subarray(0, from), bytes.subarray(to));
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return join(bytes.subarray(0, at), random.bytes(1 + random.below(16)), bytes.subarray(at));
  },
  // A part again, once or many times.
  (bytes, random) => {
    const [from, to] = range(bytes, random);
    const part = bytes.subarray(from, to);
    const times = random.chance(100_000) ? 200 : 1;
    return join(bytes.subarray(0, to), ...Array<Uint8Array>(times).fill(part), bytes.subarray(to));
  },
  // A part of another input.
  (bytes, random, other) => {
    const [from, to] = range(other, random);
    const at = random.below(bytes.length + 1);
    return join(bytes.subarray(0, at), other.subarray(from, to), bytes.subarray(at));
  },
  // An integer at its bounds, in either order of bytes.
  (bytes, random) => {
    const size = random.pick([2, 4, 8] as const);
    const integer = Buffer.alloc(8);
    integer.writeBigUInt64BE(random.pick(INTEGERS));
    const part = integer.subarray(8 - size);
    const at = random.below(bytes.length);
    const ordered = random.chance(500_000) ? part : Uint8Array.from(part).toReversed();
    return join(bytes.subarray(0, at), ordered, bytes.subarray(at + size));
  },
  // A word of JSON or of an event stream in the place of a word.
  (bytes, random) => {
    const text = Buffer.from(bytes).toString("latin1");
    const words = [...text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+|\w+/g)];
    if (words.length === 0) return bytes;
    const { index, 0: word } = random.pick(words);
    return Buffer.from(text.slice(0, index) + random.pick(TOKENS) + text.slice(index + word.length), "latin1");
  },
];

export function mutate(bytes: Uint8Array, random: Random, other: Uint8Array): Uint8Array {
  let result = bytes;
  for (let left = random.between(1, MOST_CHANGES); left > 0; left--)
    result = result.length === 0 ? random.bytes(1 + random.below(32)) : random.pick(mutations)(result, random, other);
  return Uint8Array.from(result.subarray(0, MOST_BYTES));
}

function range(bytes: Uint8Array, random: Random): readonly [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  return [from, from + random.below(Math.min(bytes.length - from, 256) + 1)];
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts);
}
