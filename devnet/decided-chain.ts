// A local chain whose decisions were made as agents make them, with their transcripts in a folder. Audits are tried
// on it.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPublicClient, http, parseEther, type PublicClient } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { decodeLog } from "../agents/adapters/chain/decode.ts";
import { encodeAsk, encodeCommit } from "../agents/adapters/chain/encode.ts";
import { encodeHeader, type RawBlock } from "../agents/adapters/chain/header.ts";
import type { ChainOptions } from "../agents/adapters/chain/connection.ts";
import { receiptOf } from "../agents/adapters/chain/receipt.ts";
import { createChainReader } from "../agents/adapters/chain/reader.ts";
import { createChainWriter } from "../agents/adapters/chain/writer.ts";
import { createOperatorActions } from "../agents/adapters/chain/operator.ts";
import { provePossession } from "../agents/adapters/chain/possession.ts";
import { keysFromPrivateKey, type Keys } from "../agents/adapters/keystore/keys.ts";
import { cidOf } from "../agents/adapters/ipfs/block.ts";
import { LocalBlocks } from "../agents/adapters/ipfs/local-blocks.ts";
import { hexToBytes, keccak256, sha256, utf8 } from "../agents/core/encoding/bytes.ts";
import { decodeMessage } from "../agents/core/encoding/transcript.ts";
import { messageDigest } from "../agents/core/encoding/typed-data.ts";
import { recordOf } from "../agents/core/request/progress.ts";
import { messageProof } from "../agents/node/request/proofs.ts";
import { protocolByCode } from "../agents/core/protocols/index.ts";
import { mbft } from "../agents/core/protocols/mbft/index.ts";
import type { Address, AgentId, Attempt, Certificate, Hex, Ppm, RequestId, SeatIndex } from "../agents/core/types.ts";
import type { ChainEvent } from "../agents/core/request/events.ts";
import { openBank } from "./world/bank.ts";
import { deployRecorded } from "./recorded-deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../scripts/deploy/settings.ts";
import { DEFAULT_PRICES } from "../scripts/deploy/prices.ts";
import { UNBOUNDED, type ChainReader } from "../agents/ports/chain.ts";
import { startLocalChain, type LocalChain } from "./local-chain.ts";
import { stepDecision } from "../sim/step-decision.ts";
import { defaultTerms } from "../agents/core/request/terms.ts";
import { limits } from "../agents/core/limits.ts";

/** One decision on the chain. */
export interface Decided {
  readonly attempt: Attempt;
  readonly certificate: Certificate;
  /** The root, then the messages in its order. */
  readonly blocks: readonly Uint8Array[];
}

type SeatMind = Parameters<typeof stepDecision>[0]["minds"][number];

type OnCertified = (decided: Decided) => Promise<void>;

export interface DecidedChain {
  readonly chain: LocalChain;
  readonly deployment: Deployment;
  /** Folder with deployment.json and the blockstore `blocks`. */
  readonly folder: string;
  readonly decisions: readonly Decided[];
  /**
   * Decides a request that somebody else asked: yes, by four agents, or unanswerable if its question names a source, which none of
   * them finds. Its transcript goes into the folder, too.
   * @param minds what the agents of the seats hold instead
   * @param certified is called when the seats have signed, before the chain has the decision
   */
  decide(requestId: bigint, minds?: readonly SeatMind[], certified?: OnCertified): Promise<Decided>;
  /** Lets a seat sign another message for a place of its own, and brings both to the slasher. Returns the agent. */
  slash(decided: Decided, seat: SeatIndex): Promise<AgentId>;
  close(): Promise<void>;
}

const SEATS = 4;
const EPOCH_BLOCKS = 160;
/** SEED_DELAY of contracts/types/Limits.sol, plus the block after it. */
const SEED_BLOCKS = 18;
/** Number of requests that are asked and decided in one epoch: two blocks each. */
const AT_ONCE = 40;
const RECEIPT_POLL_MS = 5;
const POLL_MS = 100;
const ONE = parseEther("1");

/** All that one appeal can call beside a committee: so many agents must be there for a request that allows one. */
const AGENTS_FOR_AN_APPEAL = 13;

const terms = defaultTerms({
  // More than the default prices ask for at their cap on gas.
  fee: 8n * ONE,
  duration: limits.maxDurationSeconds,
  committeeSize: SEATS,
  protocol: mbft.code,
});

const keys: readonly Keys[] = Array.from({ length: AGENTS_FOR_AN_APPEAL }, (_, index) =>
  keysFromPrivateKey(hexToBytes(keccak256(utf8(`decided ${index}`)))),
);

export interface DecidedChainOptions {
  /** Gets the number of decisions made after every forty. */
  readonly progress?: (done: number) => void;
  /** Makes the last decision provisional; all others are final and settled. */
  readonly lastIsProvisional?: boolean;
}

/** Starts a chain and makes `count` decisions of four agents each. */
export async function startDecidedChain(
  count: number,
  { progress = () => undefined, lastIsProvisional = false }: DecidedChainOptions = {},
): Promise<DecidedChain> {
  const chain = await startLocalChain();
  const folder = await mkdtemp(join(tmpdir(), "conclave-decided-"));
  const close = async (): Promise<void> => {
    await chain.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const deployment = await setUp(chain, lastIsProvisional ? keys : keys.slice(0, SEATS));
    await writeFile(join(folder, "deployment.json"), JSON.stringify({ ...deployment, rpcUrl: chain.rpcUrl }));
    const blocks = new LocalBlocks(join(folder, "blocks"));
    await blocks.open();
    const keep = async (one: Decided): Promise<void> => {
      for (const bytes of one.blocks) await blocks.put(cidOf(sha256(bytes)), bytes);
    };
    const decisions: Decided[] = [];
    const asker = new Asker(chain, deployment);
    while (decisions.length < count) {
      const upTo = Math.min(decisions.length + AT_ONCE, count);
      const made = await asker.decide(decisions.length, upTo, lastIsProvisional ? count - 1 : count);
      for (const one of made) await keep(one);
      decisions.push(...made);
      progress(decisions.length);
    }
    const decide: DecidedChain["decide"] = async (requestId, minds, certified) => {
      const one = await asker.decideRequest(requestId, minds, certified);
      await keep(one);
      return one;
    };
    const slash: DecidedChain["slash"] = (one, seat) => asker.slash(one, seat);
    return { chain, deployment, folder, decisions, decide, slash, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function setUp(chain: LocalChain, signers: readonly Keys[]): Promise<Deployment> {
  const account = privateKeyToAccount((chain.accounts[0] as LocalChain["accounts"][number]).privateKey);
  const stakes = { minStake: ONE, maxStake: 16n * ONE, unbondingDelaySeconds: MIN_UNBONDING_SECONDS };
  const options = {
    rpcUrl: chain.rpcUrl,
    account,
    token: null,
    epochBlocks: EPOCH_BLOCKS,
    prices: DEFAULT_PRICES,
    ...stakes,
  };
  const deployment = await deployRecorded({ ...options, buildProfile: "default" });
  const bank = openBank(chain, deployment.token, account);
  await bank.mint(account.address.toLowerCase() as Address, 1_000_000n * ONE);
  const place = { rpcUrl: chain.rpcUrl, chainId: chain.chainId, oracle: deployment.oracle };
  const source = { ...place, registry: deployment.registry, account, receiptPollMs: 20 };
  const operator = await createOperatorActions(source);
  for (const signer of signers) {
    const possession = provePossession(signer, { ...source, operator: operator.account });
    const { publicKey } = signer;
    const endpoint = ["/ip4/127.0.0.1/tcp/1"];
    await operator.register({ publicKey, possession, model: "test", endpoint, stake: ONE, commission: 0 as Ppm });
  }
  const { subscriptionId } = await operator.createSubscription();
  await operator.setConsumer(subscriptionId, operator.account, { token: UNBOUNDED, native: 0n });
  await operator.fund(subscriptionId, "token", 500_000n * ONE);
  return deployment;
}

const SUBSCRIPTION = 1;

class Asker {
  readonly #client: PublicClient;
  readonly #chain: LocalChain;
  readonly #deployment: Deployment;

  constructor(chain: LocalChain, deployment: Deployment) {
    this.#client = createPublicClient({ transport: http(chain.rpcUrl) });
    this.#chain = chain;
    this.#deployment = deployment;
  }

  /** Asks questions, those from `firstAppealable` on with an appeal; mines past their seed blocks, decides and commits. */
  async decide(first: number, end: number, firstAppealable: number): Promise<readonly Decided[]> {
    await this.#chain.nextEpoch(EPOCH_BLOCKS);
    const asked: Extract<ChainEvent, { kind: "requested" }>[] = [];
    for (let index = first; index < end; index++) {
      const chosen = index < firstAppealable ? terms : { ...terms, appeals: 1, fee: 28n * ONE };
      asked.push(await this.#send("requested", encodeAsk(SUBSCRIPTION, chosen, `Is ${index} less than ${index + 1}?`)));
    }
    return this.#decideAll(asked);
  }

  async decideRequest(requestId: bigint, minds?: readonly SeatMind[], certified?: OnCertified): Promise<Decided> {
    const events = await (await this.#reader()).requestEvents(requestId as RequestId);
    const [one] = await this.#decideAll(
      events.filter((event) => event.kind === "requested"),
      minds,
      certified,
    );
    if (one === undefined) throw new Error(`request ${requestId} was never asked`);
    return one;
  }

  async slash({ attempt, blocks }: Decided, seat: SeatIndex): Promise<AgentId> {
    const said = blocks.slice(1).flatMap((bytes) => decodeMessage(bytes) ?? []);
    const first = said.find(({ header }) => header.seat === seat);
    if (first === undefined) throw new Error(`seat ${seat} said nothing`);
    const header = { ...first.header, payloadDigest: sha256(utf8("another")) };
    const second = { ...first, header, signature: signerOf(attempt, seat).sign(messageDigest(attempt, header)) };
    const proof = messageProof(attempt, { first, second });
    if (proof === null) throw new Error(`there is no seat ${seat}`);
    const account = privateKeyToAccount((this.#chain.accounts[0] as LocalChain["accounts"][number]).privateKey);
    const writer = await createChainWriter({ ...this.#place(), account, receiptPollMs: RECEIPT_POLL_MS });
    const reader = await this.#reader();
    await writer.submitEvidence(proof, async () => recordOf(await reader.requestEvents(attempt.request.id)));
    return proof.agentId;
  }

  #place(): Omit<ChainOptions, "requestTimeoutMs"> {
    const { oracle, registry, chainId } = this.#deployment;
    return { rpcUrl: this.#chain.rpcUrl, chainId, oracle, registry };
  }

  async #reader(): Promise<ChainReader> {
    return createChainReader({ ...this.#place(), finalityDepth: 0, pollIntervalMs: POLL_MS });
  }

  async #decideAll(
    asked: readonly Extract<ChainEvent, { kind: "requested" }>[],
    minds?: readonly SeatMind[],
    certified: OnCertified = async () => undefined,
  ): Promise<readonly Decided[]> {
    await this.#call("hardhat_mine", [`0x${SEED_BLOCKS.toString(16)}`]);
    const reader = await this.#reader();
    const made: Decided[] = [];
    for (const { request, round, seedBlock } of asked) {
      const header = encodeHeader(await this.#call("eth_getBlockByNumber", [`0x${seedBlock.toString(16)}`, false]));
      const awaited = { round, attempt: 0, seedBlock, past: [] };
      const committee = await reader.committee(request, awaited);
      const one = decideAs({ domain: reader.domain, request, attempt: 0, committee }, minds);
      await certified(one);
      await this.#send("decisionCommitted", encodeCommit(request, awaited, header, one.certificate));
      made.push(one);
    }
    return made;
  }

  /** Returns the event of that kind that the transaction emitted. */
  async #send<Kind extends ChainEvent["kind"]>(kind: Kind, data: Hex): Promise<Extract<ChainEvent, { kind: Kind }>> {
    const { oracle, registry } = this.#deployment;
    const from = (this.#chain.accounts[0] as LocalChain["accounts"][number]).address;
    const hash: Hex = await this.#call("eth_sendTransaction", [{ from, to: oracle, data, gas: "0x4c4b40" }]);
    for (const log of (await receiptOf(this.#client, hash, RECEIPT_POLL_MS)).logs) {
      const decoded = decodeLog(log, oracle, registry);
      if (decoded.kind === "event" && decoded.event.kind === kind)
        return decoded.event as Extract<ChainEvent, { kind: Kind }>;
    }
    throw new Error(`${hash} made no event ${kind}`);
  }

  async #call<T extends Hex | RawBlock | null>(method: string, params: readonly unknown[]): Promise<T> {
    return this.#client.request({ method, params } as Parameters<PublicClient["request"]>[0]);
  }
}

const AGREEING: SeatMind = {
  answer: "yes",
  approves: (answer) => answer === "yes",
  confidence: 900_000 as Ppm,
};

function decideAs(attempt: Attempt, minds: readonly SeatMind[] = attempt.committee.map(() => AGREEING)): Decided {
  const protocol = protocolByCode(attempt.request.terms.protocol);
  if (protocol === null) throw new Error(`protocol ${attempt.request.terms.protocol} is unknown`);
  const { certified } = stepDecision({
    protocol,
    attempt,
    signerOf: (seat) => signerOf(attempt, seat),
    minds,
    goal: "certified",
    verify: false,
  });
  const [first] = certified;
  if (first === undefined) throw new Error("nothing was certified");
  return { attempt, certificate: first.certificate, blocks: first.blocks };
}

function signerOf({ committee }: Attempt, seat: number): Keys {
  const signer = keys.find(({ address }) => address === committee[seat]?.signer);
  if (signer === undefined) throw new Error(`seat ${seat} is nobody's`);
  return signer;
}
