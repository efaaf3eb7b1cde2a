// Decisions of every protocol with their transcripts, and ways to spoil them.
import { blockMissing } from "../../agents/adapters/ipfs/block.ts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { decodeBlock, encodeBlock } from "../../agents/core/encoding/codec.ts";
import { decisionDigest } from "../../agents/core/encoding/typed-data.ts";
import type { BlockValue } from "../../agents/core/encoding/block-value.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Decision, Digest, Ppm, RequestId, Terms } from "../../agents/core/types.ts";
import type { VerifyReport } from "../../agents/node/audit/report.ts";
import { verifyRequest } from "../../agents/node/audit/verify.ts";
import { simSigner } from "../../sim/signer.ts";
import { signedBy, stepDecision } from "../../sim/step-decision.ts";
import { attemptOf } from "./core/committee.ts";
import type { OnChain } from "./decided-node.ts";
import { packRound } from "./memory-chain/rounds.ts";

export interface DecidedCase extends OnChain {
  readonly name: string;
  /** By digest. */
  readonly blocks: ReadonlyMap<Digest, Uint8Array>;
}

/** Three decisions of each protocol: by four that agree, by seven of whom two dissent, and on a number. */
export function decisionsOfAll(): readonly DecidedCase[] {
  return protocols.flatMap((protocol, index) => [
    decided(protocol, 3 * index + 1, ["yes", "yes", "yes", "yes"], {}),
    decided(protocol, 3 * index + 2, ["yes", "yes", "yes", "yes", "yes", "no", "no"], {}),
    decided(protocol, 3 * index + 3, ["12.5", "12.5", "12.5", "12.5"], { kind: "number", decimals: 1 }),
  ]);
}

export function decided(
  protocol: Protocol,
  id: number,
  answers: readonly string[],
  terms: Partial<Terms>,
): DecidedCase {
  const plain = attemptOf(answers.length, { ...terms, protocol: protocol.code });
  const attempt = signedBy({ ...plain, request: { ...plain.request, id: BigInt(id) as RequestId } });
  const minds = answers.map((answer) => ({
    answer,
    approves: (other: string) => other === answer,
    confidence: 900_000 as Ppm,
  }));
  const { certified } = stepDecision({ protocol, attempt, minds, goal: "certified", verify: false });
  const [first] = certified;
  if (first === undefined) throw new Error(`${protocol.id} certified nothing`);
  const blocks = new Map(first.blocks.map((bytes) => [sha256(bytes), bytes]));
  const name = `${protocol.id}, ${answers.length} seats, ${attempt.request.terms.kind}`;
  return { name, attempt, certificate: first.certificate, blocks };
}

/** One decision, spoiled in ten ways: by the source of the blocks, or by a whole committee that signs what is not so. */
export function spoiled(good: DecidedCase): readonly DecidedCase[] {
  const { decision, signatures } = good.certificate;
  const [root, first, second, third] = [...good.blocks.keys()] as [Digest, Digest, Digest, Digest];
  const held = (change: (blocks: Map<Digest, Uint8Array>) => void, name: string): DecidedCase => {
    const blocks = new Map(good.blocks);
    change(blocks);
    return { ...good, name, blocks };
  };
  return [
    held((blocks) => blocks.delete(root), "the root is missing"),
    held((blocks) => blocks.delete(second), "a message is missing"),
    held((blocks) => blocks.set(first, flipped(blocks.get(first) as Uint8Array)), "a bit of a message is flipped"),
    held((blocks) => blocks.set(root, flipped(blocks.get(root) as Uint8Array)), "a bit of the root is flipped"),
    held((blocks) => blocks.set(third, blocks.get(second) as Uint8Array), "a message stands in another's place"),
    withCertificate(good, "a signature is another seat's", {
      decision,
      signatures: signatures.map((one, index) => ({
        ...one,
        signature: (signatures[index === 0 ? 1 : index] ?? one).signature,
      })),
    }),
    resigned(good, "the confidence is another one", { confidence: (decision.confidence - 1) as Ppm }),
    resigned(good, "the shares are others", { shares: decision.shares.map((share) => (share + 1) % 200) }),
    withRoot(good, "a message is left out of the root", (value) => ({
      ...value,
      messages: (value["messages"] as readonly BlockValue[]).slice(1),
    })),
    withRoot(good, "the root is of another version of the protocol", (value) => ({ ...value, protocolVersion: 999 })),
  ];
}

/** What `conclave verify` computes, from the same facts without a chain. */
export function byCommand({ attempt, certificate, blocks }: DecidedCase): Promise<VerifyReport> {
  const { domain, request, committee } = attempt;
  const position = { blockNumber: 1n, blockHash: "0x", logIndex: 0, transactionHash: "0x" } as const;
  const round = packRound({ link: 0n, appeals: 0, deadline: 1_900_000_000 });
  const signers = certificate.signatures.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n);
  const relay = { signers, gasPrice: 0n, relayer: request.consumer };
  const { decision, signatures } = certificate;
  const requestId = request.id;
  return verifyRequest({
    chain: {
      domain,
      requestEvents: async () => [
        { ...position, kind: "requested", request, round, seedBlock: 3n },
        { ...position, kind: "decisionCommitted", requestId, committee, decision, relay },
      ],
      certificate: async () => signatures,
    },
    store: {
      get: async (digest) => {
        const bytes = blocks.get(digest);
        if (bytes === undefined) throw blockMissing(digest, 0);
        return bytes;
      },
    },
    requestId,
    signal: new AbortController().signal,
  });
}

function withCertificate(good: DecidedCase, name: string, certificate: OnChain["certificate"]): DecidedCase {
  return { ...good, name, certificate };
}

/** The whole committee signs another decision: what is wrong then is the transcript. */
function resigned(good: DecidedCase, name: string, change: Partial<Decision>): DecidedCase {
  const decision = { ...good.certificate.decision, ...change };
  const digest = decisionDigest(good.attempt, decision);
  const signatures = good.certificate.signatures.map(({ seat }) => ({ seat, signature: simSigner(seat).sign(digest) }));
  return withCertificate(good, name, { decision, signatures });
}

function withRoot(
  good: DecidedCase,
  name: string,
  change: (root: Readonly<Record<string, BlockValue>>) => Readonly<Record<string, BlockValue>>,
): DecidedCase {
  const root = good.blocks.get(good.certificate.decision.transcript) as Uint8Array;
  const bytes = encodeBlock(change(decodeBlock(root, limits.rootBytes) as Readonly<Record<string, BlockValue>>));
  const transcript = sha256(bytes);
  return { ...resigned(good, name, { transcript }), blocks: new Map(good.blocks).set(transcript, bytes) };
}

function flipped(bytes: Uint8Array): Uint8Array {
  const at = bytes.length - 1;
  return bytes.with(at, (bytes[at] as number) ^ 1);
}
