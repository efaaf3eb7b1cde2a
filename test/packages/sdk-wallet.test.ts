// What wallets do to the SDK: they stand on other chains, fail, and pass on what others say.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  createPublicClient,
  createWalletClient,
  custom,
  encodeErrorResult,
  http,
  type Hex,
  type PublicClient,
  type WalletClient,
} from "viem";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { ConclaveError, createConclave, type Conclave } from "../../sdk/src/index.ts";
import { browserWallet, type Call } from "./browser-wallet.ts";

const QUESTION = { question: "Is 720 more than 500?", kind: "boolean" } as const;

let world: DecidedChain;
let publicClient: PublicClient;

before(async () => {
  world = await startDecidedChain(1);
  publicClient = createPublicClient({ transport: http(world.chain.rpcUrl), pollingInterval: 20, cacheTime: 0 });
});
after(() => world.close());

function owner(): Hex {
  return world.chain.accounts[0]?.address ?? "0x";
}

function walletOf(answer: Parameters<typeof browserWallet>[2]): WalletClient {
  return browserWallet(publicClient, owner(), answer);
}

function conclaveOf(walletClient: WalletClient): Conclave {
  return createConclave({ publicClient, walletClient, deployment: world.deployment });
}

async function refuses(asking: Promise<unknown>, code: string, field: string | null): Promise<ConclaveError> {
  const error = await asking.then(
    () => assert.fail(`it was not refused with ${code}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ConclaveError, String(error));
  assert.deepEqual([error.code, error.field], [code, field], error.message);
  return error;
}

describe("sdk: wallets", () => {
  it("sends nothing from a wallet on another chain", async () => {
    const wallet = walletOf(async (call, pass) => (call.method === "eth_chainId" ? "0x1" : pass(call)));
    const error = await refuses(conclaveOf(wallet).ask(QUESTION), "WALLET_WRONG_CHAIN", "walletClient");
    assert.deepEqual(error.data, { field: "walletClient", expected: 31_337, found: 1 });
  });

  it("sends nothing from a wallet whose chain changes while the gas is estimated", async () => {
    let chainId: string | undefined;
    let sent = 0;
    const wallet = walletOf(async (call, pass) => {
      if (call.method === "eth_sendTransaction") sent += 1;
      return call.method === "eth_chainId" ? (chainId ?? pass(call)) : pass(call);
    });
    const request = (call: Call): Promise<unknown> => {
      if (call.method === "eth_estimateGas") chainId = "0x1";
      return publicClient.request(call as Parameters<PublicClient["request"]>[0]);
    };
    const asking = createConclave({
      publicClient: createPublicClient({ transport: custom({ request }), pollingInterval: 20, cacheTime: 0 }),
      walletClient: wallet,
      deployment: world.deployment,
    }).ask({ ...QUESTION, currency: "native" });
    await refuses(asking, "WALLET_WRONG_CHAIN", "walletClient");
    assert.equal(sent, 0);
  });

  it("tells a user's refusal from a failure", async () => {
    const denied = Object.assign(new Error("User denied"), { code: 4001 });
    const wallet = walletOf(async (call, pass) => {
      if (call.method === "eth_sendTransaction") throw denied;
      return pass(call);
    });
    const native = { ...QUESTION, currency: "native" } as const;
    await refuses(conclaveOf(wallet).ask(native), "WALLET_REJECTED", null);
    for (const [code, said, hint] of [
      [-32_002, "Request already pending", /^open the wallet: a request waits there/],
      [4900, "Disconnected", /^the wallet is not connected to a chain/],
      [-32_603, "Internal JSON-RPC error.", /^see in the wallet what went wrong/],
      [-32_000, "nonce too low", /^see in the wallet what went wrong/],
      [undefined, "the window is gone", /^see in the wallet what went wrong/],
    ] as const) {
      const broken = walletOf(async (call, pass) => {
        if (call.method === "eth_sendTransaction") throw Object.assign(new Error(said), { code });
        return pass(call);
      });
      const error = await refuses(conclaveOf(broken).ask(native), "WALLET_FAILED", null);
      assert.deepEqual([error.message.includes(said), hint.test(error.hint)], [true, true], error.message);
    }
  });

  it("approves where the wallet cannot sign a permit, and asks its user nothing else", async () => {
    const asked: string[] = [];
    const unsigning = walletOf(async (call, pass) => {
      if (call.method === "eth_signTypedData_v4" || call.method === "eth_sendTransaction") asked.push(call.method);
      if (call.method === "eth_signTypedData_v4") throw Object.assign(new Error("no such method"), { code: -32_601 });
      return pass(call);
    });
    await conclaveOf(unsigning).actions.bond(1, 1n);
    assert.deepEqual(asked, ["eth_signTypedData_v4", "eth_sendTransaction", "eth_sendTransaction"]);
    const refusing = walletOf(async (call, pass) => {
      if (call.method === "eth_signTypedData_v4") throw Object.assign(new Error("no"), { code: 4001 });
      return pass(call);
    });
    await refuses(conclaveOf(refusing).actions.bond(1, 1n), "WALLET_REJECTED", null);
  });

  it("takes nothing but a hash for a sent transaction, and nothing but a number for a chain", async () => {
    const native = { ...QUESTION, currency: "native" } as const;
    const sent: unknown[] = [];
    const answering = (method: string, answer: unknown): Conclave =>
      conclaveOf(walletOf(async (call, pass) => (call.method === method ? answer : pass(call))));
    for (const [answer, said] of [
      ["nonsense", '"nonsense"'],
      [null, "null"],
      [{}, "an object"],
      ["0x12", '"0x12"'],
      [7, "7"],
    ] as const) {
      const asking = answering("eth_sendTransaction", answer).ask({ ...native, onSent: (hash) => sent.push(hash) });
      const { message, hint } = await refuses(asking, "WALLET_FAILED", null);
      assert.ok(message.includes(`(it answers ${said}, which is no hash of a transaction)`), message);
      assert.match(hint, /whether it has sent the transaction/);
    }
    assert.deepEqual(sent, []);
    for (const answer of [[], null, "", {}]) {
      const { message, hint } = await refuses(answering("eth_chainId", answer).ask(native), "WALLET_FAILED", null);
      assert.match(message, /^Read the wallet's chain: the wallet did not do it/);
      assert.match(hint, /nothing was sent$/);
    }
  });

  it("gives no object for a reason", async () => {
    for (const thrown of [{}, null, { code: -32_603 }, { message: { reason: 1 } }]) {
      const wallet = walletOf(async (call, pass) => {
        // Wallets throw anything.
        // eslint-disable-next-line typescript/only-throw-error
        if (call.method === "eth_sendTransaction") throw thrown;
        return pass(call);
      });
      const asking = conclaveOf(wallet).ask({ ...QUESTION, currency: "native" });
      const { message } = await refuses(asking, "WALLET_FAILED", null);
      assert.doesNotMatch(message, /\[object|undefined|null/);
    }
  });

  it("tells what the contract or the node says through the wallet", async () => {
    const native = { ...QUESTION, currency: "native" } as const;
    const failing = (failure: Error): Conclave =>
      conclaveOf(
        walletOf(async (call, pass) => {
          if (call.method === "eth_sendTransaction") throw failure;
          return pass(call);
        }),
      );
    const data = encodeErrorResult({ abi: decisionOracleAbi, errorName: "QuestionIsEmpty" });
    const estimated = failing(Object.assign(new Error("execution reverted"), { code: 3, data }));
    assert.equal((await refuses(estimated.ask(native), "TERMS_INVALID", null)).data["error"], "QuestionIsEmpty");
    const poor = failing(Object.assign(new Error("insufficient funds for gas * price + value"), { code: -32_000 }));
    await refuses(poor.ask(native), "BALANCE_TOO_LOW", null);
    const away = createWalletClient({ account: owner(), transport: http("http://127.0.0.1:9/", { retryCount: 0 }) });
    await refuses(conclaveOf(away).ask(native), "CHAIN_UNREACHABLE", null);
  });
});
