// The memory ledger with the agents and the consumer that the suites expect.
import { createMemoryChain } from "../support/memory-chain/chain.ts";
import type { Address } from "../../agents/core/types.ts";
import { testKeys } from "./chain-node.ts";
import type { ChainHarness } from "./chain-questions.ts";

const BLOCK_SECONDS = 10;

export async function createMemoryHarness(): Promise<ChainHarness> {
  let accepts = true;
  const chain = createMemoryChain({ blockSeconds: BLOCK_SECONDS, onDecision: () => accepts });
  const consumer = `0x${"c0".repeat(20)}` as Address;
  const appellant = `0x${"a2".repeat(20)}` as Address;
  const accounts = [`0x${"a0".repeat(20)}` as Address, `0x${"a1".repeat(20)}` as Address];
  const endpoint = ["/ip4/127.0.0.1/tcp/4001", "/ip4/127.0.0.1/tcp/4002"];
  for (const { address: signer, publicKey } of testKeys)
    chain.addAgent({ operator: consumer, signer, publicKey, endpoint, model: "test", stake: 1n });
  return {
    keys: testKeys,
    reader: async (options) => chain.reader(options),
    writer: async (account) => chain.writer(accounts[account] ?? consumer),
    ask: async (terms, question) => chain.ask(consumer, terms, question).request.id,
    appeal: async (request, last) => chain.appeal(appellant, request, last),
    setConsumer: async (value) => {
      accepts = value;
    },
    mine: async (blocks) => chain.mine(blocks),
    reorganize: async (blocks) => chain.reorganize(BigInt(chain.blocks.length - blocks)),
    passTime: async (seconds) => chain.passTime(seconds),
    setReachable: async (reachable) => chain.setReachable(reachable),
    services: async (agentId) => chain.servicesOf(agentId),
    stop: async () => {},
  };
}
