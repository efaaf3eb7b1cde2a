// A question between the wallet and the chain: what the SDK says of it before it is mined, and after a reload.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  createPublicClient,
  createWalletClient,
  custom,
  http,
  type Hex,
  type PublicClient,
  type WalletClient,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { startDecidedChain, type DecidedChain } from "../../devnet/decided-chain.ts";
import { createConclave, type Conclave } from "../../sdk/src/index.ts";

const QUESTION = { question: "Is 720 more than 500?", kind: "boolean" } as const;

let world: DecidedChain;
let publicClient: PublicClient;

before(async () => {
  world = await startDecidedChain(1);
  publicClient = createPublicClient({ transport: http(world.chain.rpcUrl), pollingInterval: 20, cacheTime: 0 });
});
after(() => world.close());

function owner(): ReturnType<typeof privateKeyToAccount> {
  return privateKeyToAccount(world.chain.accounts[0]?.privateKey ?? "0x");
}

function conclaveOf(walletClient?: WalletClient): Conclave {
  return createConclave({ publicClient, walletClient, deployment: world.deployment });
}

describe("sdk: a question that is sent", () => {
  it("is told before it is mined, without the approval, and found again by its transaction", async () => {
    const sent: Hex[] = [];
    const conclave = conclaveOf(createWalletClient({ account: owner(), transport: http(world.chain.rpcUrl) }));
    const asked = await conclave.ask({ ...QUESTION, onSent: (hash) => sent.push(hash) });
    assert.deepEqual(sent, [asked.receipt.transactionHash]);
    const reader = conclaveOf();
    assert.deepEqual(await reader.asked(asked.receipt.transactionHash), asked);
    const other = (await conclave.actions.createSubscription()).receipt.transactionHash;
    await assert.rejects(reader.asked(other), { code: "CHAIN_NO_CONTRACT" });
    await assert.rejects(reader.asked("0x12"), { code: "USAGE", field: "transactionHash" });
  });

  it("is not lost where the node answers with nonsense in the receipt's place", async () => {
    for (const nonsense of ["hello", { status: "0x5" }]) {
      let isWrong = true;
      const request = async (call: { readonly method: string }): Promise<unknown> => {
        const told = await publicClient.request(call as Parameters<PublicClient["request"]>[0]);
        const isReceipt = call.method === "eth_getTransactionReceipt" && isWrong;
        return isReceipt ? (typeof nonsense === "string" ? nonsense : { ...(told as object), ...nonsense }) : told;
      };
      const conclave = createConclave({
        publicClient: createPublicClient({ transport: custom({ request }), pollingInterval: 20, cacheTime: 0 }),
        walletClient: createWalletClient({ account: owner(), transport: http(world.chain.rpcUrl) }),
        deployment: world.deployment,
      });
      const sent: Hex[] = [];
      const asking = conclave.ask({ ...QUESTION, currency: "native", onSent: (hash) => sent.push(hash) });
      await assert.rejects(asking, { code: "CHAIN_UNREACHABLE" });
      const [hash = "0x"] = sent;
      await assert.rejects(conclave.asked(hash), { code: "CHAIN_UNREACHABLE" });
      isWrong = false;
      assert.equal((await conclave.asked(hash)).receipt.transactionHash, hash);
    }
  });

  it("is not sent by a wallet that does not give the account to the page, nor with terms out of bounds", async () => {
    const request = async (call: { readonly method: string }): Promise<unknown> => {
      if (call.method === "eth_sendTransaction") throw Object.assign(new Error("not authorized"), { code: 4100 });
      return publicClient.request(call as Parameters<PublicClient["request"]>[0]);
    };
    const walletClient = createWalletClient({
      account: owner().address,
      transport: custom({ request }, { retryCount: 0 }),
    });
    const conclave = conclaveOf(walletClient);
    await assert.rejects(conclave.ask({ ...QUESTION, currency: "native" }), {
      code: "WALLET_UNAUTHORIZED",
      field: "walletClient.account",
    });
    await assert.rejects(conclave.quote({ ...QUESTION, committeeSize: 999_999_999 }), {
      code: "TERMS_INVALID",
      message: /committeeSize = 999999999: give a whole number, 4 to 64$/,
    });
  });

  it("is refused before anything is paid where every agent would refuse it, in the words of the command line", async () => {
    const conclave = conclaveOf(createWalletClient({ account: owner(), transport: http(world.chain.rpcUrl) }));
    const nonce = await publicClient.getTransactionCount({ address: owner().address });
    await assert.rejects(conclave.ask({ ...QUESTION, protocol: "council", sources: ["https://pages.test/refunds"] }), {
      code: "TERMS_INVALID",
      field: "protocol",
      message: /^Ask the question: protocol = "council": every agent would refuse: council reads no sources/,
    });
    await assert.rejects(
      conclave.ask({ ...QUESTION, question: "Is it?\nsource: https://pages.test/refunds\nreally?" }),
      {
        code: "TERMS_INVALID",
        field: "question",
        message: /^Ask the question: the question names a source above other text/,
      },
    );
    assert.equal(await publicClient.getTransactionCount({ address: owner().address }), nonce);
  });
});
