import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { createPublicClient, http, numberToHex, padHex, type Hex } from "viem";
import { examineBeacon } from "../../agents/adapters/chain/beacon.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";

const RANDOM: Hex = `0x${"5a".repeat(32)}`;

/** What a chain answers: the opcode's value, and the mixHash of the latest block and of the one before. */
interface Chain {
  readonly told: bigint;
  readonly mixHashes: readonly [latest: Hex, before: Hex];
}

/** Runs `use` with a node of such a chain. */
async function serve<T>({ told, mixHashes }: Chain, use: (rpcUrl: string) => Promise<T>): Promise<T> {
  const hashes = [`0x${"22".repeat(32)}`, `0x${"11".repeat(32)}`];
  const server = createServer(async (request, response) => {
    const { id, method, params } = JSON.parse(await text(request)) as {
      readonly id: number;
      readonly method: string;
      readonly params: readonly unknown[];
    };
    const index = method === "eth_getBlockByHash" && params[0] === hashes[1] ? 1 : 0;
    const block = { number: numberToHex(9 - index), mixHash: mixHashes[index], parentHash: hashes[index + 1], transactions: [] };
    const result = method === "eth_call" ? padHex(numberToHex(told), { size: 32 }) : block;
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
  }
}

const flawOf = (chain: Chain, chainId: number): Promise<string | null> =>
  serve(chain, (rpcUrl) => examineBeacon(createPublicClient({ transport: http(rpcUrl) }), chainId));

describe("the beacon of a chain", () => {
  let chain: LocalChain;
  before(async () => {
    chain = await startLocalChain();
    await chain.nextEpoch(4);
  });
  after(() => chain.stop());

  it("is found where prevrandao is random and changes with each block", async () => {
    const client = createPublicClient({ transport: http(chain.rpcUrl) });
    // Taken for a public chain: a real node answers all questions.
    assert.equal(await examineBeacon(client, 1), null);
    assert.equal(await flawOf({ told: BigInt(RANDOM), mixHashes: [RANDOM, `0x${"a5".repeat(32)}`] }, 1), null);
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
