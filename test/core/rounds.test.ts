import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

import fc from "fast-check";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { committeeHash, decisionStructHash } from "../../agents/core/encoding/typed-data.ts";
import {
  decodeReputationChanges,
  decodeShares,
  seatsOfBits,
  unpackSeat,
  unpackTerms,
} from "../../agents/core/encoding/words.ts";
import { committeeSizeAfter, hasRetry, nextAfter, unpackRound } from "../../agents/core/request/rounds.ts";
import { linkAfter, packRound } from "../support/memory-chain/rounds.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import type { Address, Decision, Digest, Hex, Ppm, Request, Round, SeatInfo } from "../../agents/core/types.ts";

interface Vectors {
  readonly requests: readonly { id: string; consumer: Hex; termsWord: Hex; question: string }[];
  readonly committees: readonly { words: Hex[] }[];
  readonly rounds: readonly { link: Hex; appeals: number; deadline: number; word: Hex }[];
  readonly decisions: readonly {
    request: number;
    committee: number;
    message: Record<string, string | number>;
    structHash: Digest;
    roundWord: Hex;
    relayWord: Hex;
    links: readonly { appellant: Hex; link: Hex }[];
  }[];
}

const vectors = JSON.parse(readFileSync(new URL("../vectors/eip712.json", import.meta.url), "utf8")) as Vectors;

describe("rounds", () => {
  it("packs the shared words, and unpacks them to the same fields", () => {
    assert.ok(vectors.rounds.length > 1);
    for (const { link, appeals, deadline, word } of vectors.rounds) {
      const fields = { link: BigInt(link), appeals, deadline };
      assert.equal(packRound(fields), BigInt(word));
      assert.deepEqual(unpackRound(BigInt(word) as Round), fields);
    }
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 256n - 1n), (word) => {
        assert.equal(packRound(unpackRound(word as Round)), word);
      }),
    );
  });

  it("throws on fields that do not fit", () => {
    const fields = { link: 0n, appeals: 0, deadline: 0 };
    for (const change of [
      { link: 2n ** 208n },
      { link: -1n },
      { appeals: 256 },
      { deadline: 2 ** 40 },
      { deadline: 0.5 },
    ])
      assert.throws(() => packRound({ ...fields, ...change }), RangeError, JSON.stringify(Object.keys(change)));
  });

  it("SE4, SE24: a retry comes first, then the end; a finality leaves no decision provisional", () => {
    const terms = fc.record({
      appeals: fc.integer({ min: 0, max: 3 }),
      retries: fc.integer({ min: 0, max: 3 }),
      finality: fc.integer({ min: 0, max: 100 }),
    });
    const made = fc.record({ before: fc.nat(3), again: fc.nat(3), hung: fc.boolean(), confidence: fc.nat(1_000_000) });
    fc.assert(
      fc.property(terms, made, (change, { before, again, hung, confidence }) => {
        fc.pre(before <= change.appeals && again <= change.retries);
        const round = packRound({ link: 0n, appeals: before, deadline: 0 });
        const status = hung ? "hung" : "decided";
        const said = { status, attempt: before + again, confidence: (hung ? 0 : confidence) as Ppm } as const;
        const next = nextAfter(defaultTerms({ protocol: 1, ...change }), round, said);
        if (hung && again < change.retries) return assert.equal(next, "retry");
        if (before === change.appeals) return assert.equal(next, "final");
        if (change.finality === 0) return assert.equal(next, "provisional");
        return assert.equal(next, !hung && confidence >= change.finality * 10_000 ? "final" : "larger");
      }),
    );
  });

  it("links the rounds as the contracts do, by the decision and the appellant", () => {
    for (const {
      request: index,
      committee: seats,
      message,
      structHash,
      roundWord,
      relayWord,
      links,
    } of vectors.decisions) {
      const { id, consumer, termsWord, question } = vectors.requests[index] as Vectors["requests"][number];
      const terms = unpackTerms(BigInt(termsWord));
      assert.ok(terms !== null);
      const request = { id: BigInt(id), consumer: consumer.toLowerCase(), terms, question } as Request;
      const committee = (vectors.committees[seats]?.words ?? []).map((word) => unpackSeat(BigInt(word)) as SeatInfo);
      const bytes = (field: string): Uint8Array => hexToBytes(message[field] as Hex);
      const decision = {
        ...message,
        status: message["status"] === 2 ? "decided" : "hung",
        answer: Buffer.from(bytes("answer")).toString("utf8"),
        reputationChanges: decodeReputationChanges(bytes("reputationChanges")),
        shares: decodeShares(bytes("shares")),
        answered: seatsOfBits(BigInt(message["answered"] as string)),
        agreed: seatsOfBits(BigInt(message["agreed"] as string)),
      } as unknown as Decision;
      assert.equal(decisionStructHash({ request, committee }, decision), structHash);
      assert.ok(links.length > 1);
      for (const { appellant, link } of links) {
        const by = BigInt(appellant) === 0n ? null : (appellant.toLowerCase() as Address);
        const hash = committeeHash(committee);
        assert.equal(linkAfter(BigInt(roundWord) as Round, hash, structHash, BigInt(relayWord), by), BigInt(link));
      }
    }
  });

  it("SE4, SE8: another committee may be tried while fewer attempts than the terms allow were no appeals", () => {
    for (const [appeals, retries, attempts] of [
      [0, 0, []],
      [0, 2, [0, 1]],
      [1, 2, [1, 2]],
      [3, 3, [3, 4, 5]],
    ] as const) {
      const round = packRound({ link: 7n, appeals, deadline: 8 });
      const possible = Array.from({ length: 8 }, (_, later) => appeals + later);
      assert.deepEqual(
        possible.filter((attempt) => hasRetry(round, { retries }, attempt)),
        attempts,
      );
    }
  });

  it("SE5: each appeal calls a committee of twice as many seats as the one before, plus one", () => {
    assert.deepEqual(
      [0, 1, 2, 3].map((appeals) => committeeSizeAfter(4, appeals)),
      [4, 9, 19, 39],
    );
  });
});
