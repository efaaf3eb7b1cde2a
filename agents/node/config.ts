import { isAddress } from "viem";
import { z } from "zod";
import type { Timing } from "../core/protocol.ts";
import { MAX_FEE_PER_GAS_GWEI, MAX_PRIORITY_FEE_PER_GAS_GWEI } from "../ports/chain.ts";

const WRONG_ADDRESS = "expected a 20-byte hex address, in lower case or with the right checksum";
/** The form stands in the JSON Schema, too, which knows no checksums. */
const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, WRONG_ADDRESS)
  .refine((text) => isAddress(text), WRONG_ADDRESS);

/** The chain that an agent serves, and its contracts. */
export const chainConfigSchema = z.strictObject({
  rpcUrl: z.url(),
  chainId: z.int().positive(),
  oracle: address,
  registry: address,
  /** Blocks on top of an event before the agent acts on it. */
  finalityDepth: z.int().min(0).max(1024).default(0),
  pollIntervalMs: z.int().min(50).max(60_000).default(1_000),
  /** Most that a transaction may cost, in gwei per unit of gas. While the node asks for more, nothing is sent. */
  maxFeePerGasGwei: z.number().min(0.001).max(1_000_000).default(MAX_FEE_PER_GAS_GWEI),
  /** Most of that as a tip for the block's proposer. */
  maxPriorityFeePerGasGwei: z.number().min(0).max(1_000_000).default(MAX_PRIORITY_FEE_PER_GAS_GWEI),
  /** The block where scans of events begin. */
  deploymentBlock: z.int().min(0).default(0),
});

export const contentConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("helia") }),
  z.strictObject({ kind: z.literal("kubo"), url: z.url() }),
]);

export const timingConfigSchema = z
  .strictObject({
    phaseMs: z.int().min(100).max(600_000).default(60_000),
    graceMs: z.int().min(10).max(600_000).default(5_000),
    certifyMs: z.int().min(100).max(600_000).default(5_000),
    certifyDeltaMs: z.int().min(10).max(60_000).default(1_000),
    /** Time between the turns of two agents that relay; three times that where they keep. */
    relayStaggerMs: z.int().min(100).max(600_000).default(5_000),
    /**
     * Wait for other decisions that can commit in the same transaction. With blocks every twelve seconds, a quarter of
     * a second delays one commit in 48 by a block, and nobody else's turn comes before it ends.
     */
    relayBatchMs: z.int().min(0).max(60_000).default(250),
    /** Wait of a final request for others that can be settled in the same transaction: no asker waits for a settlement. */
    settleBatchMs: z.int().min(0).max(86_400_000).default(600_000),
  })
  .refine(({ relayBatchMs, relayStaggerMs }) => relayBatchMs < relayStaggerMs, {
    path: ["relayBatchMs"],
    error: "expected less than relayStaggerMs, or the next in line submits as well",
  })
  .prefault({});

/** AV10: which transcripts an agent forgets, and how often it checks. */
export const collectionConfigSchema = z
  .strictObject({
    /** Days; more than the longest appeal period and the deployment's unbonding delay. Absent: twice that. */
    retentionDays: z.int().min(1).max(36_500).optional(),
    intervalMinutes: z.int().min(1).max(10_080).default(60),
  })
  .prefault({});

export type ChainConfig = z.infer<typeof chainConfigSchema>;
export type ContentConfig = z.infer<typeof contentConfigSchema>;
export type AgentTiming = Timing & {
  readonly relayStaggerMs: number;
  readonly relayBatchMs: number;
  readonly settleBatchMs: number;
};
