import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { encodeAbiParameters, hashTypedData, keccak256 as viemKeccak, recoverAddress, stringToHex } from "viem";
import { privateKeyToAccount, sign } from "viem/accounts";
import {
  bytesToHex,
  compareBytes,
  compareHex,
  concat,
  decodeRequestId,
  encodeRequestId,
  hexToBytes,
  isHex,
  keccak256,
  sha256,
  utf8,
  word,
  word32,
} from "../../agents/core/encoding/bytes.ts";
import { publicKeyToAddress, recoverSigner } from "../../agents/core/encoding/digest.ts";
import { committeeHash, decisionDigest, messageDigest, requestHash } from "../../agents/core/encoding/typed-data.ts";
import {
  decodeReputationChanges,
  decodeShares,
  encodeReputationChanges,
  encodeShares,
  bitsOf,
  packSeat,
  packTerms,
  statusCode,
  seatsOfBits,
  unpackSeat,
  unpackTerms,
} from "../../agents/core/encoding/words.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type {
  Address,
  Attempt,
  Decision,
  Digest,
  Domain,
  Header,
  Hex,
  Request,
  RequestId,
  SeatIndex,
  SeatInfo,
  Terms,
} from "../../agents/core/types.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { ANSWER_KINDS, NAMED_TERMS } from "../../agents/core/types.ts";

const digests = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes) as Digest);
const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => bytesToHex(bytes) as Address);
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff });
const byte = fc.integer({ min: 0, max: 255 });
const question = fc.string({ unit: "grapheme", maxLength: 60 });
const domains: fc.Arbitrary<Domain> = fc.record({ chainId: fc.integer({ min: 1, max: 2 ** 48 }), oracle: addresses });
const enums: Partial<Record<keyof Terms, readonly string[]>> = NAMED_TERMS;
const termsArbitrary = fc.record(
  Object.fromEntries(
    LAYOUTS.requestTerms.map(([name, bits]) => {
      const names = enums[name];
      if (names !== undefined) return [name, fc.constantFrom(...names)];
      const isBig = name === "fee" || name === "tolerance";
      return [name, isBig ? fc.bigInt(0n, 2n ** BigInt(bits) - 1n) : fc.integer({ min: 0, max: 2 ** bits - 1 })];
    }),
  ),
  { noNullPrototype: true },
) as unknown as fc.Arbitrary<Terms>;
const requests: fc.Arbitrary<Request> = fc.record({
  id: fc.bigInt(0n, 2n ** 256n - 1n) as fc.Arbitrary<Request["id"]>,
  consumer: addresses,
  terms: termsArbitrary,
  question,
});
const seats: fc.Arbitrary<SeatInfo> = fc.record(
  {
    agentId: fc.integer({ min: 1, max: 0xffff_ffff }) as fc.Arbitrary<SeatInfo["agentId"]>,
    signer: addresses.filter((address) => BigInt(address) !== 0n),
    reputation: fc.integer({ min: 1, max: 1_000_000 }) as fc.Arbitrary<SeatInfo["reputation"]>,
    skill: fc.constantFrom(1, 2, 3),
  },
  { noNullPrototype: true },
);
const changes: fc.Arbitrary<Decision["reputationChanges"]> = fc
  .uniqueArray(
    fc.tuple(byte as fc.Arbitrary<SeatIndex>, fc.oneof(fc.constant(1), fc.integer({ min: -128, max: -1 }))),
    {
      selector: ([seat]) => seat,
      maxLength: 20,
    },
  )
  .map((pairs) => pairs.toSorted(([a], [b]) => a - b).map(([seat, steps]) => ({ seat, steps })));
const decisions: fc.Arbitrary<Decision> = fc.record({
  attempt: uint32,
  round: uint32,
  status: fc.constantFrom("decided", "hung"),
  outcome: digests,
  answer: question,
  confidence: fc.integer({ min: 0, max: 1_000_000 }) as fc.Arbitrary<Decision["confidence"]>,
  transcript: digests,
  reputationChanges: changes,
  shares: fc.array(byte, { maxLength: 64 }),
  answered: fc.bigInt(0n, 2n ** 64n - 1n).map(seatsOfBits),
  agreed: fc.bigInt(0n, 2n ** 64n - 1n).map(seatsOfBits),
});

const decisionFields = [
  ["bytes32", "requestHash"],
  ["uint32", "attempt"],
  ["bytes32", "committeeHash"],
  ["uint32", "round"],
  ["uint8", "status"],
  ["bytes32", "outcome"],
  ["bytes", "answer"],
  ["uint32", "confidence"],
  ["uint64", "answered"],
  ["uint64", "agreed"],
  ["bytes32", "transcript"],
  ["bytes", "reputationChanges"],
  ["bytes", "shares"],
].map(([type, name]) => ({ type: String(type), name: String(name) }));
const messageFields = [
  ["bytes32", "requestHash"],
  ["bytes32", "committeeHash"],
  ["uint32", "attempt"],
  ["uint32", "protocol"],
  ["uint32", "phase"],
  ["uint32", "round"],
  ["uint32", "seat"],
  ["bytes32", "payloadDigest"],
].map(([type, name]) => ({ type: String(type), name: String(name) }));

function viemDomain(domain: Domain): { name: string; version: string; chainId: number; verifyingContract: Address } {
  return { name: "Conclave", version: "1", chainId: domain.chainId, verifyingContract: domain.oracle };
}

describe("digest: agreement with viem", () => {
  it("hashes a request as keccak256(abi.encode(Request))", () => {
    const struct = ["uint256", "address", "uint256", "bytes32"].map((type) => ({ type }));
    fc.assert(
      fc.property(requests, (request) => {
        const questionHash = viemKeccak(stringToHex(request.question));
        const encoded = encodeAbiParameters(struct, [
          request.id,
          request.consumer,
          packTerms(request.terms),
          questionHash,
        ]);
        assert.equal(requestHash(request), viemKeccak(encoded));
      }),
    );
  });

  it("hashes decisions and messages as EIP-712 typed data", () => {
    fc.assert(
      fc.property(
        domains,
        requests,
        fc.array(seats, { maxLength: 6 }),
        decisions,
        (domain, request, committee, decision) => {
          const attempt: Attempt = { domain, request, attempt: decision.attempt, committee };
          const message = {
            ...decision,
            requestHash: requestHash(request),
            committeeHash: committeeHash(committee),
            status: statusCode(decision.status),
            answer: stringToHex(decision.answer),
            reputationChanges: bytesToHex(encodeReputationChanges(decision.reputationChanges)),
            shares: bytesToHex(encodeShares(decision.shares)),
            answered: bitsOf(decision.answered),
            agreed: bitsOf(decision.agreed),
          };
          const types = { Decision: decisionFields };
          const expected = hashTypedData({ domain: viemDomain(domain), types, primaryType: "Decision", message });
          assert.equal(decisionDigest(attempt, decision), expected);
        },
      ),
    );
    const headers = fc.record({
      requestId: fc.bigInt(0n, 2n ** 256n - 1n) as fc.Arbitrary<Header["requestId"]>,
      attempt: uint32,
      protocol: uint32,
      phase: uint32,
      round: uint32,
      seat: uint32 as fc.Arbitrary<SeatIndex>,
      payloadDigest: digests,
    });
    fc.assert(
      fc.property(
        domains,
        requests,
        fc.array(seats, { maxLength: 6 }),
        headers,
        (domain, request, committee, header) => {
          const message = { ...header, requestHash: requestHash(request), committeeHash: committeeHash(committee) };
          const types = { Message: messageFields };
          const expected = hashTypedData({ domain: viemDomain(domain), types, primaryType: "Message", message });
          const attempt: Attempt = { domain, request, attempt: header.attempt, committee };
          assert.equal(messageDigest(attempt, header), expected);
          assert.equal(messageDigest(attempt, header), expected, "the same from what is remembered");
        },
      ),
    );
  });

  it("signs the subject of a message: the same slot in another question or committee has another digest (TR1)", () => {
    const [request, other] = fc.sample(requests, { numRuns: 2, seed: 1 }) as [Request, Request];
    const committee = fc.sample(seats, { numRuns: 5, seed: 2 });
    const [domain] = fc.sample(domains, { numRuns: 1, seed: 3 }) as [Domain];
    const payloadDigest = keccak256(new Uint8Array());
    const place = { attempt: 0, protocol: 1, phase: 10, round: 0, seat: 1 as SeatIndex, payloadDigest };
    const digestIn = (about: Partial<Attempt>): Digest =>
      messageDigest({ domain, request, attempt: 0, committee, ...about }, { requestId: request.id, ...place });
    const reorganized = [{ request: { ...other, id: request.id } }, { committee: committee.toReversed() }];
    const all = [{}, ...reorganized, { domain: { ...domain, chainId: domain.chainId + 1 } }].map(digestIn);
    assert.equal(new Set(all).size, all.length);
  });

  it("recovers the signer that viem recovers", async () => {
    const keys = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((key) => secp256k1.utils.isValidSecretKey(key));
    await fc.assert(
      fc.asyncProperty(keys, digests, digests, async (key, digest, other) => {
        const signature = await sign({ hash: digest, privateKey: bytesToHex(key), to: "hex" });
        const account = privateKeyToAccount(bytesToHex(key));
        assert.equal(recoverSigner(digest, signature), account.address.toLowerCase());
        assert.equal(recoverSigner(other, signature), (await recoverAddress({ hash: other, signature })).toLowerCase());
        assert.equal(publicKeyToAddress(secp256k1.getPublicKey(key, false).subarray(1)), account.address.toLowerCase());
      }),
      { numRuns: 25 },
    );
  });
});

describe("digest: packing", () => {
  it("unpacks what it packs", () => {
    fc.assert(fc.property(termsArbitrary, (terms) => assert.deepEqual(unpackTerms(packTerms(terms)), terms)));
    fc.assert(fc.property(seats, (seat) => assert.deepEqual(unpackSeat(packSeat(seat)), seat)));
    fc.assert(
      fc.property(changes, (list) => assert.deepEqual(decodeReputationChanges(encodeReputationChanges(list)), list)),
    );
    fc.assert(fc.property(fc.array(byte), (shares) => assert.deepEqual(decodeShares(encodeShares(shares)), shares)));
  });

  it("unpacks a word only if it packs to that word again", () => {
    const words = fc.bigInt(0n, 2n ** 256n - 1n);
    fc.assert(
      fc.property(words, (value) => {
        const seatWord = value & (2n ** 226n - 1n);
        const seat = unpackSeat(seatWord);
        if (seat !== null) assert.equal(packSeat(seat), seatWord);
        // Clears kind, assurance, security and currency to known values.
        const termsWord = value & ~(0xean << 32n) & ~(0xfcn << 8n);
        const terms = unpackTerms(termsWord);
        assert.ok(terms);
        assert.equal(packTerms(terms), termsWord);
      }),
    );
  });

  it("knows the answer kinds by the codes that RequestTermsLib.sol and docs/asking.md name", () => {
    const kinds = Array.from({ length: 256 }, (_, kind) => unpackTerms(BigInt(kind) << 8n)?.kind ?? null);
    assert.deepEqual(kinds.slice(0, ANSWER_KINDS.length), ANSWER_KINDS);
    assert.ok(kinds.slice(ANSWER_KINDS.length).every((kind) => kind === null));
    const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
    const inSolidity = read("contracts/libraries/RequestTermsLib.sol").matchAll(/ constant KIND_(\w+) = (\d+);/g);
    const inDocs = read("docs/asking.md").matchAll(/^\| (\w+) \| (\d+) \|/gm);
    const expected = ANSWER_KINDS.map((kind, code) => [kind, String(code)]);
    for (const found of [inSolidity, inDocs])
      assert.deepEqual(
        [...found].map(([, name = "", code]) => [name.toLowerCase(), code]),
        expected,
      );
  });

  it("names the field of terms that do not fit", () => {
    const terms = fc.sample(termsArbitrary, 1)[0] as Terms;
    const wrong = [
      { fee: 2n ** 96n },
      { duration: 2 ** 32 },
      { appeals: 16 },
      { retries: -1 },
      { tolerance: -1n },
      { committeeSize: 256 },
      { decimals: 0.5 },
      { kind: "essay" as Terms["kind"] },
    ];
    for (const change of wrong) {
      const [field] = Object.keys(change);
      assert.throws(
        () => packTerms({ ...terms, ...change }),
        (error) => error instanceof ConclaveError && error.code === "TERMS_INVALID" && error.data["field"] === field,
      );
    }
  });

  it("refuses impossible seats and reputation changes", () => {
    const seat = packSeat({ agentId: 7, signer: `0x${"11".repeat(20)}`, reputation: 1, skill: 1 } as SeatInfo);
    for (const packed of [
      -1n,
      0n,
      seat >> 160n,
      seat | (1n << 232n),
      seat + (3n << 224n),
      seat - (1n << 224n),
      seat + (1_000_000n << 160n),
      seat - (1n << 160n),
    ]) {
      assert.equal(unpackSeat(packed), null);
    }
    for (const bytes of [[1], [0, 0], [0, 2], [0, 127], [3, 1, 3, 1], [3, 1, 2, 1]]) {
      assert.equal(decodeReputationChanges(Uint8Array.from(bytes)), null);
    }
    for (const [seatIndex, steps] of [
      [0, 0],
      [0, 2],
      [0, -129],
      [256, 1],
      [-1, 1],
      [0, 0.5],
    ]) {
      assert.throws(
        () => encodeReputationChanges([{ seat: seatIndex as SeatIndex, steps: steps as number }]),
        RangeError,
      );
    }
    for (const share of [-1, 256, 0.5, Number.NaN]) assert.throws(() => encodeShares([share]), RangeError);
  });
});

describe("digest: bytes", () => {
  it("knows the empty hashes", () => {
    assert.equal(keccak256(new Uint8Array()), "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    assert.equal(sha256(new Uint8Array()), "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  });

  it("orders bytes as Buffer does, and hex as its bytes", () => {
    const arrays = fc.uint8Array({ max: 3, maxLength: 4 });
    fc.assert(
      fc.property(arrays, arrays, (a, b) => {
        assert.equal(compareBytes(a, b), Buffer.compare(a, b));
        assert.equal(compareHex(bytesToHex(a), bytesToHex(b)), Buffer.compare(a, b));
        assert.deepEqual(concat(a, b), Uint8Array.from(Buffer.concat([a, b])));
        assert.deepEqual(hexToBytes(bytesToHex(a)), a);
      }),
    );
  });

  it("a number of 32 bits is the same word by both ways, and no other number is one", () => {
    fc.assert(
      fc.property(fc.oneof(fc.nat(0xffff_ffff), fc.constantFrom(0, 255, 256, 0x8000_0000, 0xffff_ffff)), (value) => {
        assert.deepEqual(word32(value), word(BigInt(value)));
      }),
    );
    for (const value of [-1, 0x1_0000_0000, 1.5, Number.NaN, Infinity]) assert.throws(() => word32(value), RangeError);
  });

  it("refuses text and hex that have no bytes", () => {
    assert.throws(() => utf8("a\ud800"), RangeError);
    assert.throws(() => hexToBytes("11" as Hex));
    assert.throws(() => hexToBytes("0x1"));
    assert.throws(() => hexToBytes("0xzz"));
    assert.equal(isHex("0x0f", 1), true);
    for (const text of ["0x0F", "0x0", "0f", "0x0f0", "0x0f\n", "1x0f"]) assert.equal(isHex(text, 1), false);
  });

  it("recovers nobody from a malformed signature", async () => {
    const digest = keccak256(utf8("x"));
    const order = secp256k1.Point.CURVE().n;
    const good = await sign({ hash: digest, privateKey: `0x${"01".repeat(32)}`, to: "hex" });
    const r = good.slice(2, 66);
    const s = BigInt(`0x${good.slice(66, 130)}`);
    const v = good.slice(130);
    const hex = (value: bigint): string => value.toString(16).padStart(64, "0");
    const high = `0x${r}${hex(order - s)}${v === "1b" ? "1c" : "1b"}`;
    const malformed = [
      high,
      `0x${r}${hex(s)}00`,
      `0x${r}${hex(s)}01`,
      `0x${r}${hex(s)}1d`,
      `0x${hex(0n)}${hex(s)}${v}`,
      `0x${r}${hex(0n)}${v}`,
      `0x${hex(order)}${hex(s)}${v}`,
      `0x${hex(5n)}${hex(s)}${v}`,
      `${good}00`,
      good.slice(0, -2),
      good.toUpperCase(),
      "0x",
      "",
    ];
    assert.notEqual(recoverSigner(digest, good), null);
    // x = 5 is on no point of the curve.
    for (const signature of malformed) assert.equal(recoverSigner(digest, signature as Hex), null, signature);
  });
});

describe("digest: request ids", () => {
  it("TR5: are 16 bytes that sort as the ids do, and decode to the same id", () => {
    const ids = fc.bigInt(0n, 2n ** 128n - 1n) as fc.Arbitrary<RequestId>;
    fc.assert(
      fc.property(ids, ids, (id, other) => {
        const bytes = encodeRequestId(id);
        assert.equal(bytes.length, 16);
        assert.equal(decodeRequestId(bytes), id);
        assert.equal(compareBytes(bytes, encodeRequestId(other)), id === other ? 0 : id < other ? -1 : 1);
      }),
    );
    assert.equal(bytesToHex(encodeRequestId(0x0102n as RequestId)), `0x${"00".repeat(14)}0102`);
  });

  it("TR5: other bytes are no id", () => {
    for (const id of [-1n, 2n ** 128n]) assert.throws(() => encodeRequestId(id as RequestId), RangeError);
    const others = [new Uint8Array(15), new Uint8Array(17), new Uint8Array(32), 7, 7n, "7", null, undefined, Array(16)];
    for (const other of others) assert.equal(decodeRequestId(other), null);
  });
});
