import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createPublicClient, http, numberToHex, padHex, type Hex } from "viem";
import { examineBeacon } from "../../agents/adapters/chain/beacon.ts";
import { withRpcServer } from "../support/rpc-server.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";

const RANDOM: Hex = `0x${"5a".repeat(32)}`;

/** What a chain answers: the opcode's value, and the mixHash of the latest block and of the one before. */
interface Chain {
  readonly told: bigint;
  readonly mixHashes: readonly [latest: Hex, before: Hex];
}

const HASHES: readonly [latest: Hex, before: Hex] = [`0x${"22".repeat(32)}`, `0x${"11".repeat(32)}`];

/** Asks a node of such a chain. */
const flawOf = ({ told, mixHashes }: Chain, chainId: number): Promise<string | null> =>
  withRpcServer(
    ({ method, params }) => {
      if (method === "eth_call") return { result: padHex(numberToHex(told), { size: 33 }) };
      const index = method === "eth_getBlockByHash" && params?.[0] === HASHES[1] ? 1 : 0;
      const number = numberToHex(9 - index);
      return { result: { number, mixHash: mixHashes[index], parentHash: HASHES[1], transactions: [] } };
    },
    (rpcUrl) => examineBeacon(createPublicClient({ transport: http(rpcUrl) }), chainId),
  );

describe("the beacon of a chain", () => {
  let chain: LocalChain;
  before(async () => {
    chain = await startLocalChain({ engine: "hardhat" });
    await chain.nextEpoch(4);
  });
  after(() => chain.stop());

  it("is found where prevrandao is random and changes with each block", async () => {
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    // Taken for a public chain: a real node answers all questions.
    assert.equal(await examineBeacon(client, 1), null);
    assert.equal(await flawOf({ told: BigInt(RANDOM), mixHashes: [RANDOM, `0x${"a5".repeat(32)}`] }, 1), null);
  });

  it("is found where prevrandao begins with the byte that no code may begin with", async () => {
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    const send = client.request as (call: {
      readonly method: string;
      readonly params: readonly unknown[];
    }) => Promise<unknown>;
    await send({ method: "hardhat_setPrevRandao", params: [`0xef${"5a".repeat(31)}`] });
    await send({ method: "hardhat_mine", params: [] });
    assert.equal(await examineBeacon(client, 1), null);
  });

  it("is missed where the opcode tells a constant, whatever headers say", async () => {
    for (const told of [0n, 1n, 2n, 2_500_000_000_000_000n, 2n ** 64n - 1n]) {
      const flaw = await flawOf({ told, mixHashes: [RANDOM, `0x${"a5".repeat(32)}`] }, 1);
      assert.equal(flaw, `prevrandao of block 9 is ${told}, which is no random number`);
    }
  });

  it("is missed where two blocks have the same prevrandao", async () => {
    const flaw = await flawOf({ told: BigInt(RANDOM), mixHashes: [RANDOM, RANDOM] }, 7_777);
    assert.equal(flaw, `blocks 8 and 9 have the same prevrandao ${RANDOM}`);
  });

  it("is known to be missing on Arbitrum, OP Stack, ZKsync, Scroll and Linea, and local chains are not asked", async () => {
    const nobody = createPublicClient({ transport: http("http://127.0.0.1:1") });
    for (const [chainId, name] of [
      [42_161, /Arbitrum.*always 1/],
      [8_453, /OP Stack/],
      [324, /2500000000000000/],
      [534_352, /always 0/],
      [59_144, /Linea/],
    ] as const)
      assert.match((await examineBeacon(nobody, chainId)) ?? "", name);
    assert.equal(await examineBeacon(nobody, 31_337), null);
  });
});
