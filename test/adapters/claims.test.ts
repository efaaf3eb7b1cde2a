import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { createMemoryChain } from "../support/memory-chain/chain.ts";
import { findClaims, settleClaims } from "../../agents/cli/agent/claims.ts";
import { hexToBytes, keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import type { Address, AgentId, Request } from "../../agents/core/types.ts";
import { booleanTerms } from "../support/core/committee.ts";
import { certify, lastOf } from "./chain-questions.ts";

const consumer = `0x${"c0".repeat(20)}` as Address;
const keys: readonly Keys[] = Array.from({ length: 13 }, (_, index) =>
  keysFromPrivateKey(hexToBytes(keccak256(utf8(`claims ${index}`)))),
);

describe("claims", () => {
  it("are the final requests that an agent sat for and that no keeper has settled", async () => {
    const { signal } = new AbortController();
    const chain = createMemoryChain();
    for (const { address, publicKey } of keys)
      chain.addAgent({ operator: address, signer: address, publicKey, endpoint: [], model: "test", stake: 1n });
    const [reader, writer] = [chain.reader(), chain.writer(consumer)];
    // A decision that is final in the first round is settled by its commit, so these can be appealed against.
    const decide = async (): Promise<Request> => {
      const terms = { ...booleanTerms, fee: 26n, duration: 3_600, appeals: 1 };
      const { request, round, seedBlock } = chain.ask(consumer, terms, "Is it?");
      chain.mine(Number(seedBlock - (await reader.head()).number) + 1);
      const awaited = { round, attempt: 0, seedBlock, past: [] };
      const committee = await reader.committee(request, awaited);
      const certificate = certify(keys, { domain: reader.domain, request, attempt: 0, committee }, {});
      await writer.commit(request, awaited, certificate);
      return request;
    };
    const final = await decide();
    chain.passTime(3_601);
    await writer.finalize(final, await lastOf(reader, final.id));
    const all = new Map<AgentId, number>();
    for (let id = 1; id <= keys.length; id += 1)
      all.set(id as AgentId, (await findClaims(reader, id as AgentId, signal)).length);
    assert.deepEqual(
      [...all.values()].toSorted((a, b) => a - b),
      [...Array.from({ length: 9 }, () => 0), 1, 1, 1, 1],
      "four of thirteen sat",
    );

    const sitting = [...all].find(([, claims]) => claims === 1)?.[0] as AgentId;
    const claims = await findClaims(reader, sitting, signal);
    assert.deepEqual(
      claims.map(({ request }) => request.id),
      [final.id],
    );
    assert.equal((await settleClaims(writer, claims, signal)).length, 1);
    assert.equal((await settleClaims(writer, claims, signal)).length, 0, "settled by somebody else");
    assert.deepEqual(await findClaims(reader, sitting, signal), []);
    await decide();
    for (const id of all.keys()) assert.deepEqual(await findClaims(reader, id, signal), [], "provisional");
  });
});
