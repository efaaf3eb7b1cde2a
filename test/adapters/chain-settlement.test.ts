import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import fc from "fast-check";
import {
  packCertificate,
  packHead,
  packMerits,
  packRelay,
  unpackCertificate,
  unpackHead,
  unpackMerits,
  unpackRelay,
} from "../../agents/adapters/chain/settlement.ts";
import { bytesToHex, hexToBytes } from "../../agents/core/encoding/bytes.ts";
import {
  bitsOf,
  decodeReputationChanges,
  decodeShares,
  seatsOfBits,
  unpackSeat,
} from "../../agents/core/encoding/words.ts";
import type { Address, Certificate, Hex, Ppm, SeatIndex, SeatInfo } from "../../agents/core/types.ts";

const vectors = JSON.parse(readFileSync(new URL("../vectors/eip712.json", import.meta.url), "utf8")) as {
  committees: { words: Hex[] }[];
  decisions: { committee: number; message: Record<string, string | number>; packed: Record<string, Hex> }[];
  certificates: { decision: number; signerSeats: number[]; signers: Hex; signatures: Hex[]; packed: Hex }[];
  relays: { signers: string; gasPriceWei: string; relayer: Hex; word: Hex }[];
};
const committeeOf = (index: number): SeatInfo[] =>
  (vectors.committees[index]?.words ?? []).map((word) => unpackSeat(BigInt(word)) as SeatInfo);
const certificates = vectors.certificates.map(({ decision, signerSeats, signatures, signers, packed }) => ({
  committee: committeeOf(vectors.decisions[decision]?.committee ?? -1),
  signatures: signerSeats.map((seat, index) => ({ seat: seat as SeatIndex, signature: signatures[index] as Hex })),
  signers: BigInt(signers),
  packed,
}));

describe("chain: the packed words of a settlement", () => {
  it("equal those of the shared vectors", () => {
    for (const { committee, message, packed } of vectors.decisions) {
      const { attempt, round, status, confidence } = message as Record<string, number>;
      const head = {
        status: status === 2 ? "decided" : "hung",
        attempt: attempt as number,
        seats: committeeOf(committee).length,
        round: round as number,
        confidence: confidence as Ppm,
        answered: seatsOfBits(BigInt(message["answered"] as string)),
        agreed: seatsOfBits(BigInt(message["agreed"] as string)),
      } as const;
      const word = BigInt(packed["head"] as Hex);
      assert.equal(packHead(head), word);
      assert.deepEqual(unpackHead(word), head);
      const merits = {
        shares: decodeShares(hexToBytes(message["shares"] as Hex)),
        reputationChanges: decodeReputationChanges(hexToBytes(message["reputationChanges"] as Hex)) ?? [],
      };
      assert.equal(bytesToHex(packMerits(merits)), packed["merits"]);
      assert.deepEqual(unpackMerits(hexToBytes(packed["merits"] as Hex), head.seats), merits);
    }
    for (const { signers, gasPriceWei, relayer, word } of vectors.relays) {
      const relay = { signers: BigInt(signers), gasPrice: BigInt(gasPriceWei), relayer: relayer as Address };
      assert.equal(packRelay(relay), BigInt(word));
      assert.equal(packRelay(unpackRelay(BigInt(word))), BigInt(word));
      assert.equal(unpackRelay(BigInt(word)).relayer, relayer.toLowerCase());
    }
  });

  it("include certificates, whose 65-byte signatures survive packing", () => {
    for (const { committee, signatures, signers, packed } of certificates) {
      assert.equal(bytesToHex(packCertificate(signatures)), packed);
      assert.equal(bytesToHex(packCertificate(signatures.toReversed())), packed, "in any order");
      assert.deepEqual(unpackCertificate(hexToBytes(packed), committee.length), signatures);
      assert.equal(bitsOf(signatures.map(({ seat }) => seat)), signers);
    }
  });

  it("unpack to what was packed, whatever it is", () => {
    const uint = (bits: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** bits - 1 });
    const head = fc.record(
      {
        status: fc.constantFrom("decided", "hung"),
        attempt: uint(8),
        seats: uint(8),
        round: uint(32),
        confidence: fc.integer({ min: 0, max: 1_000_000 }).map((value) => value as Ppm),
        answered: fc.bigInt(0n, 2n ** 64n - 1n).map(seatsOfBits),
        agreed: fc.bigInt(0n, 2n ** 64n - 1n).map(seatsOfBits),
      },
      { noNullPrototype: true },
    );
    fc.assert(fc.property(head, (one) => assert.deepEqual(unpackHead(packHead(one)), one)));
    fc.assert(fc.property(fc.bigInt(0n, 2n ** 256n - 1n), (word) => assert.equal(packRelay(unpackRelay(word)), word)));
    const signed = fc.tuple(fc.uint8Array({ minLength: 64, maxLength: 64 }), fc.boolean(), fc.boolean());
    fc.assert(
      fc.property(fc.array(signed, { minLength: 7, maxLength: 7 }), (seats) => {
        const signatures: Certificate["signatures"] = seats.flatMap(([bytes, parity, present], seat) => {
          bytes[32] = (bytes[32] as number) & 127;
          const signature = `${bytesToHex(bytes)}${parity ? "1c" : "1b"}` as Hex;
          return present ? [{ seat: seat as SeatIndex, signature }] : [];
        });
        const packed = packCertificate(signatures);
        assert.equal(packed.length, 8 + signatures.length * 64);
        assert.deepEqual(unpackCertificate(packed, 7), signatures);
      }),
    );
  });

  it("refuse malformed words", () => {
    const [certificate] = certificates;
    assert.ok(certificate !== undefined);
    const { signatures, packed } = certificate;
    const bytes = hexToBytes(packed);
    const changed = (position: number, value: number): Uint8Array => bytes.with(position, value);
    for (const [malformed, seats] of [
      [bytes.subarray(0, 7), 4],
      [bytes.subarray(0, -1), 4],
      [Uint8Array.of(...bytes, 0), 4],
      [bytes, 3],
      [changed(7, 0b1_1011), 4],
      [changed(7, 0b1111), 4],
      [changed(0, 1), 4],
      [bytes, 65],
    ] as const)
      assert.equal(unpackCertificate(malformed, seats), null);
    const [first, ...others] = signatures;
    assert.ok(first !== undefined);
    const high = `${first.signature.slice(0, 66)}ff${first.signature.slice(68)}` as Hex;
    for (const signature of [high, first.signature.slice(0, -2) as Hex, `${first.signature.slice(0, -2)}00` as Hex])
      assert.throws(() => packCertificate([{ ...first, signature }, ...others]), RangeError);
    const head = {
      status: "decided",
      attempt: 256,
      seats: 4,
      round: 0,
      confidence: 0 as Ppm,
      answered: [],
      agreed: [],
    } as const;
    assert.throws(() => packHead(head), RangeError);
    assert.throws(() => packRelay({ signers: 2n ** 64n, gasPrice: 0n, relayer: `0x${"00".repeat(20)}` as Address }));
    assert.equal(unpackMerits(new Uint8Array(3), 4), null);
    assert.equal(unpackMerits(new Uint8Array(5), 4), null);
  });
});
