import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { recoverSigner } from "../../agents/core/encoding/digest.ts";
import { committeeHash, decisionDigest, messageDigest, requestHash } from "../../agents/core/encoding/typed-data.ts";
import {
  decodeReputationChanges,
  decodeShares,
  seatsOfBits,
  unpackSeat,
  unpackTerms,
} from "../../agents/core/encoding/words.ts";
import type {
  Address,
  Attempt,
  Decision,
  Digest,
  Domain,
  Header,
  Hex,
  Request,
  SeatInfo,
} from "../../agents/core/types.ts";

describe("digest: the shared EIP-712 vectors", () => {
  const vectors = JSON.parse(readFileSync(new URL("../vectors/eip712.json", import.meta.url), "utf8")) as {
    domain: { chainId: number; verifyingContract: Hex };
    requests: { id: string; consumer: Hex; termsWord: Hex; question: string; requestHash: Hex }[];
    committees: {
      words: Hex[];
      committeeHash: Hex;
      seats: { skill: number; agentId: number; reputation: number; signer: Hex }[];
    }[];
    decisions: { request: number; committee: number; digest: Hex; message: Record<string, string | number> }[];
    certificates: { decision: number; signerSeats: number[]; signatures: Hex[] }[];
    messages: {
      request: number;
      committee: number;
      message: Record<string, string | number>;
      digest: Hex;
      signer: Hex;
      signature: Hex;
    }[];
  };
  const domain: Domain = {
    chainId: vectors.domain.chainId,
    oracle: vectors.domain.verifyingContract.toLowerCase() as Address,
  };
  const committees = vectors.committees.map(({ words }) => words.map((word) => unpackSeat(BigInt(word)) as SeatInfo));
  const attemptOf = (index: number, committee: number, message: Record<string, string | number>): Attempt => {
    const request = vectors.requests[index];
    assert.ok(request);
    const terms = unpackTerms(BigInt(request.termsWord));
    assert.ok(terms);
    const consumer = request.consumer.toLowerCase() as Address;
    return {
      domain,
      request: { id: BigInt(request.id) as Request["id"], consumer, terms, question: request.question },
      attempt: Number(message["attempt"]),
      committee: committees[committee] as SeatInfo[],
    };
  };
  const attempts = vectors.decisions.map(({ request, committee, message }) => attemptOf(request, committee, message));

  it("has the same request and committee hashes", () => {
    for (const [index, attempt] of attempts.entries()) {
      assert.equal(requestHash(attempt.request), vectors.decisions[index]?.message["requestHash"]);
    }
    for (const [index, committee] of committees.entries()) {
      assert.equal(committeeHash(committee), vectors.committees[index]?.committeeHash);
      const { seats: expected = [] } = vectors.committees[index] ?? {};
      assert.deepEqual(
        committee,
        expected.map(({ skill, agentId, reputation, signer }) => ({
          skill,
          agentId,
          reputation,
          signer: signer.toLowerCase(),
        })),
      );
    }
  });

  it("has the same decision digests, and their certificates recover to the seats' signers", () => {
    const digestsFound = vectors.decisions.map(({ message, digest }, index) => {
      const { attempt, round, confidence, status } = message as Record<string, number>;
      const bytes = (field: string): Uint8Array => hexToBytes(message[field] as Hex);
      const decision = {
        attempt,
        round,
        confidence,
        status: status === 2 ? "decided" : "hung",
        outcome: message["outcome"],
        transcript: message["transcript"],
        answer: Buffer.from(bytes("answer")).toString("utf8"),
        reputationChanges: decodeReputationChanges(bytes("reputationChanges")),
        shares: decodeShares(bytes("shares")),
        answered: seatsOfBits(BigInt(message["answered"] as string)),
        agreed: seatsOfBits(BigInt(message["agreed"] as string)),
      } as Decision;
      assert.equal(decisionDigest(attempts[index] as Attempt, decision), digest);
      return digest as Digest;
    });
    for (const { decision, signerSeats, signatures } of vectors.certificates) {
      for (const [position, seat] of signerSeats.entries()) {
        const signature = signatures[position] as Hex;
        const { signer } = (attempts[decision] as Attempt).committee[seat] as SeatInfo;
        assert.equal(recoverSigner(digestsFound[decision] as Digest, signature), signer);
      }
    }
  });

  it("has the same message digests and signers", () => {
    for (const { request, committee, message, digest, signer, signature } of vectors.messages) {
      const attempt = attemptOf(request, committee, message);
      const header = { ...message, requestId: attempt.request.id } as unknown as Header;
      assert.equal(messageDigest(attempt, header), digest);
      assert.equal(recoverSigner(digest as Digest, signature), signer.toLowerCase());
    }
  });

  it("refuses the words whose kind or assurance is unknown", () => {
    const unknown = vectors.requests.filter(({ termsWord }) => unpackTerms(BigInt(termsWord)) === null);
    assert.deepEqual(
      unknown.map(({ id }) => id),
      [vectors.requests[2]?.id],
    );
  });
});
