/**
 * Stands in for @noble/curves/secp256k1.js inside the simulator's workers (hooks.ts), where signatures would take nearly all
 * the time. An ideal scheme for keys that this process made: a signature is the digest masked by the key, beside the name of
 * the key. It is deterministic, is recovered as the real one is, and any other digest, byte or key fails. It hides nothing.
 */
const HALF = 32;

interface Known {
  readonly mask: Uint8Array;
  readonly publicKey: Uint8Array;
}

/** By the 32 bytes that stand for s, as latin1 text. */
const keys = new Map<string, Known>();

/** Low enough to count as a low s. */
function nameOf(secret: Uint8Array): Uint8Array {
  const name = mixed(secret, 0x5bd1e995);
  name[0] = 0x01;
  return name;
}

function mixed(secret: Uint8Array, salt: number): Uint8Array {
  const out = new Uint8Array(HALF);
  let state = salt >>> 0;
  for (let round = 0; round < 3; round++) {
    for (let index = 0; index < HALF; index++) {
      state = Math.imul(state ^ (secret[index] as number) ^ (out[(index + 7) % HALF] as number), 0x01000193) >>> 0;
      state = (state ^ (state >>> 13)) >>> 0;
      out[index] = (state >>> 8) & 0xff;
    }
  }
  return out;
}

function register(secret: Uint8Array): { readonly name: Uint8Array; readonly known: Known } {
  const name = nameOf(secret);
  const id = text(name, 0, HALF);
  let known = keys.get(id);
  if (known === undefined) {
    const publicKey = new Uint8Array(65);
    publicKey[0] = 4;
    publicKey.set(name, 1);
    publicKey.set(mixed(secret, 0xc2b2ae35), 1 + HALF);
    known = { mask: mixed(secret, 0x27d4eb2f), publicKey };
    keys.set(id, known);
  }
  return { name, known };
}

function text(bytes: Uint8Array, start: number, end: number): string {
  return String.fromCharCode(...bytes.subarray(start, end));
}

function masked(digest: Uint8Array, { mask }: Known): Uint8Array {
  return Uint8Array.from(digest, (byte, index) => byte ^ (mask[index] as number));
}

class SimulatedSignature {
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  hasHighS(): boolean {
    return (this.bytes[HALF] as number) >= 0x80;
  }

  addRecoveryBit(bit: number): { readonly recoverPublicKey: (digest: Uint8Array) => { toBytes(): Uint8Array } } {
    return {
      recoverPublicKey: (digest) => {
        const known = keys.get(text(this.bytes, HALF, 2 * HALF));
        if (known === undefined || bit !== 0) throw new Error("nobody's signature");
        for (let index = 0; index < HALF; index++)
          if (((digest[index] as number) ^ (known.mask[index] as number)) !== this.bytes[index])
            throw new Error("signature of another digest");
        return { toBytes: () => known.publicKey };
      },
    };
  }
}

export const secp256k1 = {
  utils: { isValidSecretKey: (secret: Uint8Array): boolean => secret.length === HALF },
  getPublicKey: (secret: Uint8Array): Uint8Array => register(secret).known.publicKey.slice(),
  /** In the "recovered" format: the recovery bit first. */
  sign(digest: Uint8Array, secret: Uint8Array): Uint8Array {
    const { name, known } = register(secret);
    const signature = new Uint8Array(1 + 2 * HALF);
    signature.set(masked(digest, known), 1);
    signature.set(name, 1 + HALF);
    return signature;
  },
  Signature: { fromBytes: (bytes: Uint8Array): SimulatedSignature => new SimulatedSignature(bytes.slice()) },
};
