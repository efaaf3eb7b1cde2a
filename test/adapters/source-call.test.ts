import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { encodeAbiParameters, encodeErrorResult, encodeFunctionData, parseAbi } from "viem";
import { openSourceReader } from "../../agents/adapters/source-reader/reader.ts";
import { hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import type { Reading, ReadingFailure } from "../../agents/core/sources/snapshot.ts";
import { configFor, sourceOf } from "../support/pages.ts";
import { withRpcServer, type RpcCall } from "../support/rpc-server.ts";

const CONTRACT = `0x${"ab".repeat(20)}` as const;
const CHAIN = 10;
const FINAL = 100;
const LATEST = 120;
const BALANCE = `eip155:10:${CONTRACT}:balanceOf(address:${CONTRACT})(uint256)@90`;

/** A chain whose contract answers every call with the result; records the calls. */
function chain(result: object, calls: RpcCall[] = [], served = CHAIN): (call: RpcCall) => object | Promise<object> {
  const block = (number: number): object => ({ result: { number: `0x${number.toString(16)}`, transactions: [] } });
  return (call) => {
    calls.push(call);
    if (call.method === "eth_chainId") return { result: `0x${served.toString(16)}` };
    if (call.method === "eth_blockNumber") return { result: `0x${LATEST.toString(16)}` };
    if (call.method === "eth_getBlockByNumber") return block(call.params?.[0] === "finalized" ? FINAL : LATEST);
    return result;
  };
}

function read(text: string, answer: (call: RpcCall) => Promise<object> | object, more: object = {}): Promise<Reading> {
  return withRpcServer(answer, async (url) => {
    const config = { ...configFor(1), rpcUrls: { [String(CHAIN)]: url }, ...more };
    const get = (): Promise<Uint8Array> => Promise.reject(new Error("no documents"));
    const reader = await openSourceReader({ config, store: { get } });
    return reader.read(sourceOf(text), new AbortController().signal);
  });
}

async function failure(
  text: string,
  answer: (call: RpcCall) => Promise<object> | object,
  more = {},
): Promise<ReadingFailure | null> {
  const reading = await read(text, answer, more);
  return reading.kind === "failed" ? reading.reason : null;
}

describe("reading a call", () => {
  it("EV13: calls the function at the block, and brings the value as text", async () => {
    const calls: RpcCall[] = [];
    const data = encodeAbiParameters([{ type: "uint256" }], [2n ** 200n]);
    const reading = await read(BALANCE, chain({ result: data }, calls));
    assert.equal(reading.kind, "read");
    assert.deepEqual(reading.snapshot, {
      source: BALANCE,
      finalUrl: BALANCE,
      status: null,
      mediaType: "application/octet-stream",
      raw: sha256(hexToBytes(data)),
      title: "",
      text: String(2n ** 200n),
      isCut: false,
      extractor: { name: "abi", version: "2" },
    });
    const abi = parseAbi(["function balanceOf(address) view returns (uint256)"]);
    const sent = encodeFunctionData({ abi, args: [CONTRACT] });
    const [transaction, block] = calls.find(({ method }) => method === "eth_call")?.params ?? [];
    assert.deepEqual([transaction, block], [{ to: CONTRACT, data: sent, gas: "0x17d7840" }, "0x5a"]);
  });

  it("EV13: follows no contract that sends its caller to an address on the web (EIP-3668)", async () => {
    const asked: string[] = [];
    const inner = createServer((request, response) => {
      asked.push(String(request.url));
      response.end(JSON.stringify({ data: "0x" }));
    });
    await once(inner.listen(0, "127.0.0.1"), "listening");
    try {
      const { port } = inner.address() as AddressInfo;
      const abi = parseAbi(["error OffchainLookup(address, string[], bytes, bytes4, bytes)"]);
      const args = [CONTRACT, [`http://127.0.0.1:${port}/{data}`], "0x", "0x01020304", "0x"] as const;
      const data = encodeErrorResult({ abi, errorName: "OffchainLookup", args });
      const reverted = { error: { code: 3, message: "execution reverted", data } };
      const reason = await failure(BALANCE, chain(reverted));
      assert.deepEqual(asked, []);
      assert.equal(reason, "no-such-value");
    } finally {
      inner.close();
    }
  });

  it("EV13: encodes each type of argument, and writes each type of value as a source would", async () => {
    const types = ["address", "bool", "int8", "uint64", "bytes4", "bytes", "string", "string"];
    const values = [CONTRACT, true, -5, 7n, "0x01020304", "0xab", "two\nlines", "0xAB"];
    const data = encodeAbiParameters(
      types.map((type) => ({ type })),
      values,
    );
    const args = `address:${CONTRACT},bool:true,int8:-5,uint64:7,bytes4:0x01020304,bytes:0xab`;
    const calls: RpcCall[] = [];
    const reading = await read(
      `eip155:10:${CONTRACT}:f(${args})(${types.join(",")})@100`,
      chain({ result: data }, calls),
    );
    assert.equal(reading.kind, "read");
    assert.equal(
      reading.snapshot.text,
      JSON.stringify([CONTRACT, "true", "-5", "7", "0x01020304", "0xab", "two\nlines", "0xAB"]),
    );
    const abi = parseAbi(["function f(address, bool, int8, uint64, bytes4, bytes)"]);
    const sent = encodeFunctionData({ abi, args: [CONTRACT, true, -5, 7n, "0x01020304", "0xab"] });
    assert.deepEqual(calls.at(-1)?.params?.[0], { to: CONTRACT, data: sent, gas: "0x17d7840" });
  });

  const at = (block: number): string => BALANCE.replace(/\d+$/, String(block));
  const never = new Promise<object>(() => undefined);
  const word = encodeAbiParameters([{ type: "uint256" }], [1n]);
  for (const [what, text, answer, reason] of [
    ["the last final block", at(FINAL), chain({ result: word }), null],
    ["a block after the final one", at(FINAL + 1), chain({ result: word }), "not-final"],
    ["the latest block", at(LATEST), chain({ result: word }), "not-final"],
    ["a block that is not there yet", at(LATEST + 1), chain({ result: word }), "not-there"],
    ["a chain without an RPC", BALANCE.replace(":10:", ":11:"), chain({ result: word }), "no-rpc"],
    ["an RPC of another chain", BALANCE, chain({ result: word }, [], 1), "rpc-error"],
    ["an address without code", BALANCE, chain({ result: "0x" }), "no-such-value"],
    ["a value of another type", BALANCE.replace("(uint256)", "(string)"), chain({ result: word }), "no-such-value"],
    [
      "a bool that is neither 0 nor 1",
      BALANCE.replace("(uint256)", "(bool)"),
      chain({ result: encodeAbiParameters([{ type: "uint256" }], [2n]) }),
      "no-such-value",
    ],
    ...(["uint8", "int8"] as const).map(
      (type) =>
        [
          `an integer for which ${type} has no room`,
          BALANCE.replace("uint256", type),
          chain({ result: encodeAbiParameters([{ type: "uint256" }], [1_000n]) }),
          "no-such-value",
        ] as const,
    ),
    [
      "a call that reverts",
      BALANCE,
      chain({ error: { code: 3, message: "execution reverted", data: "0x" } }),
      "no-such-value",
    ],
    [
      "a call that never ends, as geth says it",
      BALANCE,
      chain({ error: { code: -32000, message: "out of gas" } }),
      "no-such-value",
    ],
    [
      "a call that never ends, as Anvil says it",
      BALANCE,
      chain({ error: { code: -32603, message: "EVM error OutOfGas" } }),
      "no-such-value",
    ],
    [
      "an RPC that keeps no old state",
      BALANCE,
      chain({ error: { code: -32000, message: "missing trie node" } }),
      "rpc-error",
    ],
    ["an RPC that says no JSON-RPC", BALANCE, () => ({ result: [] }), "rpc-error"],
    ["a result of 6 MB", BALANCE, chain({ result: `0x${"00".repeat(3_000_000)}` }), "rpc-error"],
  ] as const)
    it(`EV13: ${what} ends as ${reason ?? "a reading"}`, async () => {
      assert.equal(await failure(text, answer), reason);
    });

  it("EV13: an RPC that does not answer ends as timeout", async () => {
    assert.equal(await failure(BALANCE, () => never, { timeoutMs: 300 }), "timeout");
  });

  it("EV12: no failure tells the URL of the RPC, which may hold a key", async () => {
    const reading = await read(BALANCE, () => ({ error: { code: -32000, message: "no" } }));
    assert.equal(reading.kind, "failed");
    assert.doesNotMatch(reading.detail, /127\.0\.0\.1/);
  });
});
