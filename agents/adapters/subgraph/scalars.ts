// Values of a subgraph's endpoint: anybody can run one, so every value is bounded and checked before it is used.
// The dashboard's first view brings these checks along, so they are of the small form of zod.
import * as z from "zod/mini";
import type { Hex, RequestId } from "../../core/types.ts";

/** Longest text: a question of 8,192 bytes, each of which can become one replacement character. */
const MAX_TEXT = 16_384;
/** Most rows that graph-node returns at once. */
export const MAX_ROWS = 1_000;
const MAX_INT = 2 ** 31 - 1;
/** Digits of 2^256. */
const BIG_INT = /^-?\d{1,78}$/;
const BYTES = /^0x(?:[0-9a-f]{2}){0,4096}$/;

export const text = z.string().check(z.maxLength(MAX_TEXT));
export const int = z.int().check(z.minimum(-MAX_INT - 1), z.maximum(MAX_INT));
export const bigInt = z.pipe(
  z.string().check(z.regex(BIG_INT)),
  z.transform((value: string) => BigInt(value)),
);
export const bytes = z.pipe(
  z.string().check(z.regex(BYTES)),
  z.transform((value) => value as Hex),
);

/** Unix seconds, up to the year 2286. */
export const time = z.pipe(z.string().check(z.regex(/^\d{1,10}$/)), z.transform(Number));
/** Days since 1970. */
export const day = z.int().check(z.minimum(0), z.maximum(115_740));
export const requestId = z.pipe(
  z.string().check(z.regex(/^[1-9]\d{0,38}$/)),
  z.transform((value) => BigInt(value) as RequestId),
);

export function list<Item extends z.ZodMiniType>(item: Item): z.ZodMiniArray<Item> {
  return z.array(item).check(z.maxLength(MAX_ROWS));
}

type Comparison = "" | "_not" | "_gt" | "_lt" | "_gte" | "_lte";

/** Graph-node's filter over fields. */
export type Where<Fields> = {
  readonly [Key in keyof Fields & string as `${Key}${Comparison}`]?: Fields[Key];
} & { readonly [Key in keyof Fields & string as `${Key}_in`]?: readonly Fields[Key][] };
