// Four agents in processes of their own, with real adapters and a model server; one is killed at a random moment and
// restarted.
import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { createFileJournals } from "../../agents/adapters/journal/file-journal.ts";
import { PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { forgeryIn } from "../../agents/core/encoding/transcript.ts";
import type { Address, Attempt, Request } from "../../agents/core/types.ts";
import { createInputReader } from "../../agents/node/seat/records.ts";
import type { ChainReader } from "../../agents/ports/chain.ts";
import { startModelServer } from "../../chaos/model-server.ts";
import { openBank } from "../../devnet/world/bank.ts";
import { registerAgent, startAgent, stopProcess, type WorldAgent } from "../../devnet/world/agents.ts";
import { deployRecorded } from "../../devnet/recorded-deployment.ts";
import { MIN_UNBONDING_SECONDS } from "../../scripts/deploy/settings.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { startLocalChain } from "../../devnet/local-chain.ts";
import { until } from "../support/until.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { assertAbove } from "../support/assertions.ts";

const STAKE = parseEther("10");
/** A committee has to decide in its epoch or the next: a busy machine has 80 s at least. */
const EPOCH_BLOCKS = 160;
const BLOCK_SECONDS = 0.5;
const PASSWORD = "crash test";

const terms = defaultTerms({ fee: parseEther("1"), kind: "number", protocol: 1 });

describe("a crash", () => {
  // The moment is random on purpose; whatever it is, the rules must hold. The message names it for a re-run by hand.
  const killAfterMs = randomInt(0, 12_000);
  const victim = randomInt(0, 4);
  const bystander = (victim + 1) % 4;

  it(`SIGKILL of agent ${victim} after ${killAfterMs} ms: one decision, no conflicting signature`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "conclave-crash-"));
    const chain = await startLocalChain({ blockTimeSeconds: BLOCK_SECONDS });
    const owner = privateKeyToAccount(chain.accounts[0]!.privateKey);
    const deployment = await deployRecorded({
      rpcUrl: chain.rpcUrl,
      account: owner,
      token: null,
      minStake: STAKE,
      maxStake: STAKE,
      unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
      epochBlocks: EPOCH_BLOCKS,
      prices: FREE,
      buildProfile: "default",
    });
    const model = await startModelServer();
    const { chainId, oracle, registry } = deployment;
    const config = {
      chain: { rpcUrl: chain.rpcUrl, chainId, oracle, registry, pollIntervalMs: 200 },
      model: { kind: "openai", url: model.url, model: "sums", prompts: "small" },
      listen: ["/ip4/127.0.0.1/tcp/0"],
      timing: { phaseMs: 60_000, graceMs: 3_000, certifyMs: 3_000, relayStaggerMs: 2_000, settleBatchMs: 2_000 },
    };
    const bank = openBank(chain, deployment.token, owner);
    const agents = await Promise.all(
      [0, 1, 2, 3].map(async (index): Promise<WorldAgent> => {
        const folder = join(directory, `agent-${index}`);
        const registered = await registerAgent({
          directory: folder,
          password: PASSWORD,
          rpcUrl: chain.rpcUrl,
          deployment,
          config,
          stake: STAKE,
          fund: (keys) => bank.fund(keys.address, STAKE),
        });
        return { ...registered, directory: folder, lies: false };
      }),
    );
    const children = agents.map((agent) => startAgent(agent, PASSWORD));
    const copying = new AbortController();
    let copied = Promise.resolve();
    try {
      const source = { ...deployment, rpcUrl: chain.rpcUrl, deploymentBlock: BigInt(deployment.deploymentBlock) };
      const reader = await createChainReader({ ...source, finalityDepth: 0, pollIntervalMs: 200 });
      await until(async () => (await reader.agents()).every((record) => record.endpoint.length > 0));
      // With one agent away the victim is needed for every quorum, and nothing is decided before it is back.
      await stopProcess(children[bystander]!);
      await bank.mint(owner.address.toLowerCase() as Address, terms.fee);
      await chain.nextEpoch(EPOCH_BLOCKS);
      const asker = await createOperatorActions({ ...source, account: owner });
      const { requestId } = await asker.request(terms, "What is 27 plus 38?");

      const [asked] = await reader.requestEvents(requestId);
      await until(async () => asked?.kind === "requested" && (await reader.head()).number > asked.seedBlock);
      copied = copyJournals(agents, requestId, copying.signal);
      await sleep(killAfterMs);
      children[victim]?.kill("SIGKILL");
      await sleep(500);
      children[victim] = startAgent(agents[victim]!, PASSWORD);

      await until(async () => ["decided", "hung"].includes((await reader.requestState(requestId)).status), 120_000);
      await sleep(3_000);
      copying.abort();
      await copied;
      const events = await reader.requestEvents(requestId);
      assert.equal(events.filter((event) => event.kind === "decisionCommitted").length, 1);
      assert.deepEqual(await conflicts(agents, await attemptOf(reader, events)), []);
    } finally {
      copying.abort();
      await copied;
      await Promise.all(children.map(stopProcess));
      await model.close();
      await chain.stop();
      await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    }
  });
});

async function attemptOf(
  reader: ChainReader,
  events: Awaited<ReturnType<ChainReader["requestEvents"]>>,
): Promise<Attempt> {
  const request = events.flatMap((event): Request[] => (event.kind === "requested" ? [event.request] : []))[0]!;
  const { committee, decision } = events.find((event) => event.kind === "decisionCommitted")!;
  return { domain: reader.domain, request, attempt: decision.attempt, committee };
}

/** An agent removes a journal once the decision is final, so the latest copy before that is what a test can look at. */
async function copyJournals(agents: readonly WorldAgent[], requestId: bigint, signal: AbortSignal): Promise<void> {
  const name = `request-${requestId}-0.journal`;
  while (!signal.aborted) {
    for (const { directory } of agents)
      await cp(join(directory, "data", "journals", name), join(directory, "copies", name)).catch(() => undefined);
    await sleep(100);
  }
}

/** Slots in which a seat signed two payloads, over all messages that any agent sent or received. */
async function conflicts(agents: readonly WorldAgent[], attempt: Attempt): Promise<readonly string[]> {
  const bySlot = new Map<string, Set<string>>();
  const seats = new Set<number>();
  for (const { directory } of agents) {
    const journal = await createFileJournals(join(directory, "copies")).open(`request-${attempt.request.id}-0`);
    const read = createInputReader();
    let records = 0;
    for await (const record of journal.read()) {
      const input = records++ === 0 ? null : read(record);
      if (input?.kind !== "message" || forgeryIn(attempt, input.message) !== null) continue;
      const { phase, round, seat, payloadDigest } = input.message.header;
      if (phase >= PROPOSE) seats.add(seat);
      const slot = `${phase}.${round}.${seat}`;
      bySlot.set(slot, (bySlot.get(slot) ?? new Set()).add(payloadDigest));
    }
    await journal.close();
  }
  assertAbove(bySlot.size, 20);
  assertAbove(seats.size, 2, "seats whose certify messages were seen");
  return [...bySlot].filter(([, payloads]) => payloads.size > 1).map(([slot]) => slot);
}
