import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { loadNative } from "../../agents/adapters/secp256k1/native.ts";
import { sound } from "../../agents/adapters/secp256k1/sound.ts";
import { loadWasm } from "../../agents/adapters/secp256k1/wasm.ts";
import { bytesToHex, hexToBytes, sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import type { Curve } from "../../agents/core/encoding/curve.ts";
import { publicKeyToAddress } from "../../agents/core/encoding/digest.ts";
import { curve as nobleCurve } from "../../agents/core/encoding/noble-curve.ts";
import { createSecp256k1, secp256k1 } from "../../agents/core/encoding/secp256k1.ts";
import { makeSignatureVectors, type SignatureVectors } from "../support/core/signature-vectors.ts";
import * as textbook from "../support/core/textbook-curve.ts";

const { N, P, word } = textbook;
const file = new URL("../vectors/secp256k1.json", import.meta.url);
const vectors = JSON.parse(readFileSync(file, "utf8")) as SignatureVectors;
const NOBODY = `0x${"00".repeat(20)}`;

/** Platforms for which the package `secp256k1` has a binary. */
const hasBinary = ["linux-x64", "darwin-arm64", "win32-x64"].includes(`${process.platform}-${process.arch}`);
const wasmCurve = await loadWasm();
const curves = [nobleCurve, wasmCurve, loadNative()].filter((curve) => curve !== null);

/** Recovers the signer as the core did before there was a choice of curves. */
function recoverByNoble(digest: Uint8Array, signature: Uint8Array): Uint8Array | null {
  const v = signature[64];
  if (signature.length !== 65 || (v !== 27 && v !== 28)) return null;
  try {
    const parsed = noble.Signature.fromBytes(signature.subarray(0, 64), "compact");
    if (parsed.hasHighS()) return null;
    return parsed
      .addRecoveryBit(v - 27)
      .recoverPublicKey(digest)
      .toBytes(false)
      .subarray(1);
  } catch {
    return null;
  }
}

function hexOf(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : bytesToHex(bytes);
}

function signerOf(publicKey: Uint8Array | null): string {
  return publicKey === null ? NOBODY : publicKeyToAddress(publicKey);
}

describe("secp256k1: the vectors", () => {
  it("equal what the textbook curve makes, and contain each kind", () => {
    assert.deepEqual(makeSignatureVectors(), vectors);
    const named = vectors.recovered.filter(({ signer }) => signer !== NOBODY);
    assert.equal(named.length, 12);
    assert.equal(vectors.recovered.length - named.length, 34);
  });

  it("rest on a textbook curve that makes the known signatures of RFC 6979", () => {
    const known = [
      [
        "Satoshi Nakamoto",
        0x934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8n,
        0x2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5n,
      ],
      [
        "All those moments will be lost in time, like tears in rain. Time to die...",
        0x8600dbd41e348fe5c9465ab92d23e3db8b98b873beecd930736488696438cb6bn,
        0x547fe64427496db33bf66019dacbf0039c04199abb0122918601db38a72cfc21n,
      ],
    ] as const;
    for (const [text, r, s] of known) {
      const signed = textbook.sign(BigInt(sha256(utf8(text))), 1n);
      assert.deepEqual([signed.r, signed.s], [r, s]);
    }
  });
});

describe("secp256k1: every curve", () => {
  it("loads: noble and WebAssembly everywhere, native code where it is built", () => {
    const names = curves.map(({ name }) => name);
    assert.deepEqual(names, hasBinary ? ["noble", "wasm", "native"] : ["noble", "wasm"]);
  });

  for (const curve of curves) {
    const { publicKey, sign, recover, isSecretKey } = createSecp256k1(curve);

    it(`${curve.name}: signs the vectors byte for byte, and recovers their signers`, () => {
      for (const { name, secret, address, digest, signature } of vectors.signed) {
        assert.equal(publicKeyToAddress(publicKey(hexToBytes(secret))), address, name);
        assert.equal(bytesToHex(sign(hexToBytes(digest), hexToBytes(secret))), signature, name);
        assert.equal(signerOf(recover(hexToBytes(digest), hexToBytes(signature))), address, name);
      }
    });

    it(`${curve.name}: recovers the signers of the vectors, and nobody from malformed signatures`, () => {
      for (const { name, digest, signature, signer } of vectors.recovered)
        assert.equal(signerOf(recover(hexToBytes(digest), hexToBytes(signature))), signer, name);
    });

    it(`${curve.name}: changes no argument, and keeps no result that the caller may change`, () => {
      const [secret, digest] = [word(5n), word(6n)];
      const first = sign(digest, secret);
      const kept = first.slice();
      const recovered = recover(digest, first);
      const key = hexOf(recovered);
      sign(word(7n), word(8n));
      recover(word(7n), sign(word(7n), word(8n)));
      publicKey(word(9n));
      assert.deepEqual([first, hexOf(recovered), secret, digest], [kept, key, word(5n), word(6n)]);
    });

    it(`${curve.name}: refuses a key outside [1, n) and a digest of another length`, () => {
      for (const secret of [
        word(0n),
        word(N),
        word(N + 1n),
        word(2n ** 256n - 1n),
        word(1n).subarray(1),
        new Uint8Array(33),
      ]) {
        assert.equal(isSecretKey(secret), false);
        assert.throws(() => publicKey(secret), /^RangeError: the private key is not 32 bytes in \[1, n\)$/);
        assert.throws(() => sign(word(1n), secret), /^RangeError: the private key is not 32 bytes in \[1, n\)$/);
      }
      for (const length of [0, 31, 33]) {
        assert.throws(() => sign(new Uint8Array(length), word(1n)), RangeError);
        assert.equal(recover(new Uint8Array(length), sign(word(1n), word(1n))), null);
      }
    });
  }

  it("only gets inputs that all curves treat alike", () => {
    const digests: bigint[] = [];
    const spy: Curve = {
      name: "spy",
      publicKey: (secret) => nobleCurve.publicKey(secret),
      sign(digest, secret) {
        digests.push(textbook.number(digest));
        return nobleCurve.sign(digest, secret);
      },
      recover(digest, rs, recovery) {
        const [r, s] = [textbook.number(rs.subarray(0, 32)), textbook.number(rs.subarray(32))];
        digests.push(textbook.number(digest));
        assert.ok(rs.length === 64 && r > 0n && r < N && s > 0n && s <= N / 2n && [0, 1].includes(recovery));
        return nobleCurve.recover(digest, rs, recovery);
      },
    };
    const spied = createSecp256k1(spy);
    for (const { digest, secret } of vectors.signed) spied.sign(hexToBytes(digest), hexToBytes(secret));
    for (const { digest, signature } of vectors.recovered) spied.recover(hexToBytes(digest), hexToBytes(signature));
    assert.ok(digests.length > 20);
    for (const digest of digests) assert.ok(digest < N);
  });
});

/** Numbers at which two libraries could disagree. */
const edges = [
  0n,
  1n,
  2n,
  5n,
  N / 2n - 1n,
  N / 2n,
  N / 2n + 1n,
  N - 1n,
  N,
  N + 1n,
  P - N,
  P - 1n,
  P,
  P + 1n,
  2n ** 256n - 1n,
];
const words = fc.oneof(
  { weight: 3, arbitrary: fc.bigInt(0n, 2n ** 256n - 1n) },
  { weight: 1, arbitrary: fc.constantFrom(...edges) },
);
const secrets = fc.oneof(fc.bigInt(1n, N - 1n), fc.constantFrom(1n, 2n, N / 2n, N - 2n, N - 1n)).map(word);
const digests = words.map(word);

interface Bent {
  readonly digest: Uint8Array;
  readonly signature: Uint8Array;
}

/** Sound signatures and tampered ones. */
const bent: fc.Arbitrary<Bent> = fc.record({ secret: secrets, digest: digests }).chain(({ secret, digest }) => {
  const signature = secp256k1.sign(digest, secret);
  const half = (start: number) => textbook.number(signature.subarray(start, start + 32));
  const [r, s, v] = [half(0), half(32), signature[64] as number];
  const packed = (one: bigint, two: bigint, mark: number) => Uint8Array.of(...word(one), ...word(two), mark);
  const flipped = fc
    .nat(8 * 65 - 1)
    .map((bit) => signature.with(bit >> 3, (signature[bit >> 3] as number) ^ (1 << (bit & 7))));
  const signatures = fc.oneof(
    fc.constant(signature),
    fc.constantFrom(packed(r, N - s, v), packed(r, N - s, 55 - v), packed(r, s, 55 - v), packed(s, r, v)),
    flipped,
    words.map((other) => packed(other, s, v)),
    words.map((other) => packed(r, other, v)),
    fc.tuple(words, words, fc.constantFrom(27, 28)).map(([one, two, mark]) => packed(one, two, mark)),
    fc.nat(255).map((mark) => packed(r, s, mark)),
    fc.nat(70).map((length) => Uint8Array.from({ length }, (_, index) => signature[index] ?? 0)),
    fc.uint8Array({ minLength: 65, maxLength: 65 }),
  );
  const hashes = fc.oneof(fc.constant(digest), digests);
  return fc.record({ digest: hashes, signature: signatures });
});

describe("secp256k1: any input", () => {
  it("is signed alike by all curves, which recover the signer", () => {
    fc.assert(
      fc.property(secrets, digests, (secret, digest) => {
        const [first, ...others] = curves.map((curve) => createSecp256k1(curve));
        assert.ok(first !== undefined);
        const [key, signature] = [hexOf(first.publicKey(secret)), first.sign(digest, secret)];
        for (const other of others)
          assert.deepEqual([hexOf(other.publicKey(secret)), other.sign(digest, secret)], [key, signature]);
        for (const one of [first, ...others]) assert.equal(hexOf(one.recover(digest, signature)), key);
      }),
      { numRuns: 300 },
    );
  });

  it("yields the same key under all curves as under noble, or none under all", () => {
    let named = 0;
    fc.assert(
      fc.property(bent, ({ digest, signature }) => {
        const expected = hexOf(recoverByNoble(digest, signature));
        if (expected !== null) named += 1;
        for (const curve of curves)
          assert.equal(hexOf(createSecp256k1(curve).recover(digest, signature)), expected, curve.name);
      }),
      { numRuns: 1_500 },
    );
    // Neither kind is rare.
    assert.ok(named > 300 && named < 1_200, `${named} of 1500 name somebody`);
  });

  it("is recovered alike by the textbook curve", () => {
    fc.assert(
      fc.property(bent, ({ digest, signature }) => {
        const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)].map((half) =>
          textbook.number(Uint8Array.of(0, ...half)),
        );
        const recovery = (signature[64] ?? 0) - 27;
        const isFormed = signature.length === 65 && (recovery === 0 || recovery === 1);
        const point = isFormed
          ? textbook.recover(textbook.number(digest), { r: r as bigint, s: s as bigint, recovery })
          : null;
        const expected = point === null ? null : bytesToHex(Uint8Array.of(...word(point.x), ...word(point.y)));
        assert.equal(hexOf(secp256k1.recover(digest, signature)), expected);
      }),
      { numRuns: 40 },
    );
  });
});

describe("secp256k1: the choice of the curve", () => {
  const module = new URL("../../agents/core/encoding/secp256k1.ts", import.meta.url).href;
  const script = `console.log((await import(${JSON.stringify(module)})).secp256k1.library);`;
  const libraryOf = async (flags: readonly string[], before = "", environment = {}): Promise<string> => {
    const args = [...flags, "--input-type=module", "--eval", `${before}${script}`];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...environment } });
    return stdout.trim();
  };
  /** Makes node-gyp-build look for a binary in a folder without one. */
  const withoutBinary = { SECP256K1_PREBUILD: import.meta.dirname };

  it("is the fastest that loads: native code, else WebAssembly, else noble", async () => {
    assert.equal(await libraryOf([]), hasBinary ? "native" : "wasm");
    assert.equal(await libraryOf([], "", withoutBinary), "wasm");
    const withoutWasm = "WebAssembly.instantiate = () => Promise.reject(new Error());";
    assert.equal(await libraryOf([], withoutWasm, withoutBinary), "noble");
  });

  it("can be set by a condition of package.json", async () => {
    assert.equal(await libraryOf(["--conditions=wasm"]), "wasm");
    assert.equal(await libraryOf(["--conditions=noble"]), "noble");
  });

  it("passes over a library that computes wrong results", () => {
    assert.equal(sound(null), null);
    for (const curve of curves) {
      assert.equal(sound(curve), curve);
      assert.equal(sound({ ...curve, sign: (digest, secret) => curve.sign(secret, digest) }), null);
      assert.equal(sound({ ...curve, recover: () => null }), null);
      assert.equal(sound({ ...curve, publicKey: () => new Uint8Array(64) }), null);
      assert.equal(
        sound({
          ...curve,
          recover: () => {
            throw new Error("no such symbol");
          },
        }),
        null,
      );
    }
  });
});
