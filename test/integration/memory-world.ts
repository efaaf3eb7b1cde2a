// The agents' real runtime over in-memory adapters, in one process.
import { createSystemClock } from "../../agents/adapters/clock/system-clock.ts";
import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { createMemoryChain, type MemoryChain } from "../support/memory-chain/chain.ts";
import { createMemorySourceReader } from "../../agents/adapters/memory/source-reader.ts";
import { createMemoryContentHub, createMemoryContentStore } from "../support/memory/content-store.ts";
import { createMemoryEvidence } from "../support/memory/evidence.ts";
import { createMemoryJournals, type MemoryJournals } from "../../agents/adapters/memory/journal.ts";
import { createMemoryModel, type Script } from "../../agents/adapters/memory/model.ts";
import { createMemoryHub } from "../../agents/adapters/memory/network.ts";
import { createAgent, type Agent, type AgentPorts } from "../../agents/node/agent.ts";
import type { AgentTiming } from "../../agents/node/config.ts";
import type { ContentStore } from "../../agents/ports/content-store.ts";
import type { EvidenceStore } from "../../agents/ports/evidence.ts";
import type { Log } from "../../agents/ports/log.ts";
import type { Network } from "../../agents/ports/network.ts";
import { keyOf } from "../support/core/committee.ts";
import { fastTiming, silentLog } from "./world.ts";

export interface MemoryAgent {
  readonly keys: Keys;
  readonly journals: MemoryJournals;
  readonly evidence: EvidenceStore;
  readonly store: ContentStore;
  /** Starts the agent; `bend` replaces some of its adapters, and `opened` is what it does first. */
  start(bend?: Partial<AgentPorts>, tokensPerRequest?: number, opened?: () => Promise<void>): RunningMemoryAgent;
}

export interface RunningMemoryAgent {
  readonly agent: Agent;
  readonly network: Network;
  stop(): Promise<void>;
}

export interface MemoryWorld {
  readonly chain: MemoryChain;
  readonly agents: readonly MemoryAgent[];
}

/** Makes a world of the real runtime over in-memory adapters in one process. `wrap` may replace an agent's network. */
export function memoryWorld(
  scripts: readonly Script[],
  wrap: (network: Network, keys: Keys, index: number) => Network = (network) => network,
  log: Log = silentLog,
  timing: AgentTiming = fastTiming,
): MemoryWorld {
  const clock = createSystemClock();
  const chain = createMemoryChain();
  const hub = createMemoryHub({ clock });
  const content = createMemoryContentHub();
  const agents = scripts.map((script, index): MemoryAgent => {
    const keys = keysFromPrivateKey(keyOf(index));
    const journals = createMemoryJournals();
    const evidence = createMemoryEvidence();
    const store = createMemoryContentStore({ clock, hub: content, getTimeoutMs: 500 });
    const { address, publicKey } = keys;
    chain.addAgent({
      operator: address,
      signer: address,
      publicKey,
      endpoint: ["/memory"],
      model: "memory",
      stake: 10n ** 18n,
    });
    const start: MemoryAgent["start"] = (bend = {}, tokensPerRequest = Infinity, opened) => {
      const network = wrap(hub.join(address), keys, index);
      const model = createMemoryModel(script, { confidence: () => 900_000 });
      const ports = {
        chain: chain.reader(),
        writer: chain.writer(address),
        transactions: chain.transactions(),
        network,
        store,
        sources: createMemorySourceReader(store),
        model,
        signer: keys,
        journals,
        evidence,
        clock,
        log,
        ...bend,
      };
      const agent = createAgent(ports, timing, tokensPerRequest);
      const abort = new AbortController();
      const done = agent.run(abort.signal, opened);
      const stop = async (): Promise<void> => {
        abort.abort();
        await done;
        await network.close();
      };
      return { agent, network, stop };
    };
    return { keys, journals, evidence, store, start };
  });
  return { chain, agents };
}
