import { createHmac } from "node:crypto";

/**
 * ECDSA over secp256k1 as SEC 1 and RFC 6979 write it, in big integers and without any library: slow, and no secret is safe in it.
 * It makes test/vectors/secp256k1.json and the hard cases of the fuzz run, which need points that no library hands out.
 */
export const P = 2n ** 256n - 2n ** 32n - 977n;
export const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

export const G: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
};

interface TextbookSignature {
  readonly r: bigint;
  readonly s: bigint;
  readonly recovery: 0 | 1;
}

export function mod(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus;
  return rest < 0n ? rest + modulus : rest;
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, mod(base, modulus)];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

/** Inverse by Euclid's algorithm. Both moduli are primes; 0 has no inverse. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [low, high] = [mod(value, modulus), modulus];
  let [a, b] = [1n, 0n];
  while (low > 1n) {
    const quotient = high / low;
    [low, high] = [high % low, low];
    [a, b] = [b - quotient * a, a];
  }
  return mod(a, modulus);
}

/** A point of the curve; null is the point at infinity. */
function add(a: Point | null, b: Point | null): Point | null {
  if (a === null) return b;
  if (b === null) return a;
  if (a.x === b.x && mod(a.y + b.y, P) === 0n) return null;
  const slope = a.x === b.x ? 3n * a.x * a.x * inverse(2n * a.y, P) : (b.y - a.y) * inverse(mod(b.x - a.x, P), P);
  const x = mod(slope * slope - a.x - b.x, P);
  return { x, y: mod(slope * (a.x - x) - a.y, P) };
}

export function multiply(point: Point | null, scalar: bigint): Point | null {
  let result: Point | null = null;
  let doubled = point;
  for (let rest = mod(scalar, N); rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = add(result, doubled);
    doubled = add(doubled, doubled);
  }
  return result;
}

/** The point with this x whose y has this parity; null if the curve has no such point. */
export function lift(x: bigint, odd: boolean): Point | null {
  const square = mod(x * x * x + 7n, P);
  const root = power(square, (P + 1n) / 4n, P);
  if ((root * root) % P !== square) return null;
  return { x, y: (root & 1n) === (odd ? 1n : 0n) ? root : P - root };
}

/** Signs by RFC 6979, 3.2, with SHA-256; s is low. */
export function sign(digest: bigint, secret: bigint): TextbookSignature {
  const nonces = noncesOf(secret, digest);
  for (;;) {
    const k = nonces();
    const point = multiply(G, k) as Point;
    const r = mod(point.x, N);
    const s = mod(inverse(k, N) * (digest + r * secret), N);
    if (r === 0n || s === 0n) continue;
    const isHigh = s > N / 2n;
    const isOdd = (point.y & 1n) === 1n;
    return { r, s: isHigh ? N - s : s, recovery: isOdd === isHigh ? 0 : 1 };
  }
}

function noncesOf(secret: bigint, digest: bigint): () => bigint {
  const hmac = (key: Uint8Array, ...parts: readonly Uint8Array[]): Uint8Array => {
    const hash = createHmac("sha256", key);
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  const seed = [word(secret), word(mod(digest, N))];
  let [key, value]: [Uint8Array, Uint8Array] = [new Uint8Array(32), new Uint8Array(32).fill(1)];
  const step = (mark: number, ...more: readonly Uint8Array[]): void => {
    key = hmac(key, value, Uint8Array.of(mark), ...more);
    value = hmac(key, value);
  };
  step(0, ...seed);
  step(1, ...seed);
  return () => {
    for (;;) {
      value = hmac(key, value);
      const nonce = number(value);
      if (nonce > 0n && nonce < N) return nonce;
      step(0);
    }
  };
}

/** Recovers by SEC 1, 4.1.6; null for r and s out of range, a high s, r without a point, and the point at infinity. */
export function recover(digest: bigint, { r, s, recovery }: TextbookSignature): Point | null {
  if (r <= 0n || r >= N || s <= 0n || s > N / 2n) return null;
  const point = lift(r, recovery === 1);
  if (point === null) return null;
  return multiply(add(multiply(point, s), multiply(G, -mod(digest, N))), inverse(r, N));
}

export function word(value: bigint): Uint8Array {
  return Uint8Array.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex"));
}

export function number(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
}
