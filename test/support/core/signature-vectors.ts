import { bytesToHex, concat, hexToBytes, keccak256, utf8 } from "../../../agents/core/encoding/bytes.ts";
import { publicKeyToAddress } from "../../../agents/core/encoding/digest.ts";
import type { Address, Hex } from "../../../agents/core/types.ts";
import { G, N, P, lift, mod, multiply, number, recover, sign, word } from "./textbook-curve.ts";

/** A signature that every implementation must make byte for byte. */
export interface SignedVector {
  readonly name: string;
  readonly secret: Hex;
  readonly address: Address;
  readonly digest: Hex;
  readonly signature: Hex;
}

/** Signer that every implementation must recover from a signature of any form; the zero address if nobody signed. */
export interface RecoveredVector {
  readonly name: string;
  readonly digest: Hex;
  readonly signature: Hex;
  readonly signer: Address;
}

export interface SignatureVectors {
  readonly description: string;
  readonly signed: readonly SignedVector[];
  readonly recovered: readonly RecoveredVector[];
}

const NOBODY: Address = `0x${"00".repeat(20)}` as Address;
const TOP = 2n ** 256n - 1n;

/** Makes all vectors by textbook-curve.ts. */
export function makeSignatureVectors(): SignatureVectors {
  return {
    description:
      "ECDSA over secp256k1: signatures of RFC 6979 with low s, and whom a signature of any form names; made by scripts/signature-vectors.ts without a library.",
    signed: makeSigned(),
    recovered: [...makeSound(), ...makeMalformed()],
  };
}

function makeSigned(): readonly SignedVector[] {
  const random = (name: string): bigint => number(hexToBytes(keccak256(utf8(name))));
  const cases: readonly (readonly [name: string, secret: bigint, digest: bigint])[] = [
    ...Array.from({ length: 8 }, (_, index): readonly [string, bigint, bigint] => [
      `any ${index}`,
      mod(random(`secret ${index}`), N),
      random(`digest ${index}`),
    ]),
    ["the lowest key", 1n, random("low")],
    ["the highest key", N - 1n, random("high")],
    ["a digest of 0", random("zero"), 0n],
    ["a digest of n - 1", 3n, N - 1n],
    ["a digest of n", 3n, N],
    ["a digest of n + 1", 3n, N + 1n],
    ["the highest digest", 3n, TOP],
  ];
  return cases.map(([name, secret, digest]) => {
    const { r, s, recovery } = sign(digest, secret);
    const address = addressOf(multiply(G, secret));
    return { name, secret: hex(secret), address, digest: hex(digest), signature: packed(r, s, 27 + recovery) };
  });
}

/** Signatures with a signer, most of whose keys nobody knows. */
function makeSound(): readonly RecoveredVector[] {
  const digest = number(hexToBytes(keccak256(utf8("sound"))));
  const low = xFrom(1n, 1n);
  const high = xFrom(N - 1n, -1n);
  const cases: readonly (readonly [name: string, digest: bigint, r: bigint, s: bigint])[] = [
    ["the lowest r and s", digest, low, 1n],
    ["the highest r, the highest low s", digest, high, N / 2n],
    ["r = x of the generator", digest, G.x, 2n],
    ["a digest of 0", 0n, G.x, 3n],
    ["a digest of n", N, G.x, 3n],
    ["the highest digest", TOP, G.x, 3n],
  ];
  return cases.flatMap(([name, hash, r, s]) =>
    ([0, 1] as const).map((recovery) => ({
      name: `${name}, v = ${27 + recovery}`,
      digest: hex(hash),
      signature: packed(r, s, 27 + recovery),
      signer: addressOf(recover(hash, { r, s, recovery })),
    })),
  );
}

function makeMalformed(): readonly RecoveredVector[] {
  const secret = 7n;
  const digest = number(hexToBytes(keccak256(utf8("malformed"))));
  const { r, s, recovery } = sign(digest, secret);
  const v = 27 + recovery;
  const pointless = xFrom(5n, 1n, false);
  const cases: readonly (readonly [name: string, signature: Hex])[] = [
    ["high s of a sound signature", packed(r, N - s, 55 - v)],
    ["high s, v as it was", packed(r, N - s, v)],
    ["the lowest high s", packed(r, N / 2n + 1n, v)],
    ["s = n - 1", packed(r, N - 1n, v)],
    ["s = n", packed(r, N, v)],
    ["s = n + 1", packed(r, N + 1n, v)],
    ["the highest s", packed(r, TOP, v)],
    ["s = 0", packed(r, 0n, v)],
    ["r = 0", packed(0n, s, v)],
    ["r = n", packed(N, s, v)],
    ["r = n + 1", packed(N + 1n, s, v)],
    ["r = p - 1", packed(P - 1n, s, v)],
    ["r = p + 1", packed(P + 1n, s, v)],
    ["the highest r", packed(TOP, s, v)],
    ["r and s = 0", packed(0n, 0n, v)],
    ["r is no x of a point, v = 27", packed(pointless, s, 27)],
    ["r is no x of a point, v = 28", packed(pointless, s, 28)],
    ...[0, 1, 2, 3, 26, 29, 30, 31, 35, 255].map((other) => [`v = ${other}`, packed(r, s, other)] as const),
    ["empty", "0x"],
    ["without v", packed(r, s, v).slice(0, -2) as Hex],
    ["one byte more", `${packed(r, s, v)}00`],
    ["one byte before it", `0x00${packed(r, s, v).slice(2)}`],
  ];
  const named = cases.map(([name, signature]) => ({ name, digest: hex(digest), signature, signer: NOBODY }));
  return [...named, ...makeInfinite()];
}

/** Signatures with R = kG and the digest s * k: s * R minus the digest times G is the point at infinity. */
function makeInfinite(): readonly RecoveredVector[] {
  return [5n, 6n, 11n].map((k) => {
    const point = multiply(G, k);
    if (point === null) throw new Error("a small multiple of the generator is a point");
    const s = 1_000n + k;
    const signature = packed(mod(point.x, N), s, 27 + Number(point.y & 1n));
    return {
      name: `the key is the point at infinity, k = ${k}`,
      digest: hex(mod(s * k, N)),
      signature,
      signer: NOBODY,
    };
  });
}

/**
 * The first x, from `from` on in this direction, that a point of the curve has; with `isPoint` false, that no point
 * has.
 */
function xFrom(from: bigint, step: bigint, isPoint = true): bigint {
  for (let x = from; ; x += step) if ((lift(x, false) !== null) === isPoint) return x;
}

function addressOf(point: ReturnType<typeof multiply>): Address {
  return point === null ? NOBODY : publicKeyToAddress(concat(word(point.x), word(point.y)));
}

function packed(r: bigint, s: bigint, v: number): Hex {
  return bytesToHex(concat(word(r), word(s), Uint8Array.of(v)));
}

function hex(value: bigint): Hex {
  return bytesToHex(word(value));
}
