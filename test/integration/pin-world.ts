import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { startDecidedChain, type Decided } from "../../devnet/decided-chain.ts";
import { createCli, type Cli } from "./cli-world.ts";

/** Decisions with their transcripts, and two machines: one beside the chain, and one that has neither chain nor deployment file. */
export interface PinWorld {
  /** Folder of `cli`, with deployment.json and the blockstore `blocks`. */
  readonly folder: string;
  /** Folder of `far`. */
  readonly elsewhere: string;
  readonly cli: Cli;
  readonly far: Cli;
  readonly transcripts: readonly PinnedTranscript[];
  close(): Promise<void>;
}

export interface PinnedTranscript extends Decided {
  readonly cid: string;
  /** Id of the request. */
  readonly id: string;
}

/** Flags with which `cli` finds every transcript. */
export const fromHere = ["--store", ".", "--deployment", "deployment.json"] as const;

export async function startPinWorld(count: number): Promise<PinWorld> {
  const world = await startDecidedChain(count);
  const elsewhere = await mkdtemp(join(tmpdir(), "conclave-elsewhere-"));
  return {
    folder: world.folder,
    elsewhere,
    cli: createCli(world.folder),
    far: createCli(elsewhere),
    transcripts: world.decisions.map((decided) => ({
      ...decided,
      cid: cidString(decided.certificate.decision.transcript),
      id: String(decided.attempt.request.id),
    })),
    async close() {
      await world.close();
      await rm(elsewhere, { recursive: true, force: true });
    },
  };
}

export function transcriptAt({ transcripts }: PinWorld, index: number): PinnedTranscript {
  return transcripts[index] ?? assert.fail(`there are ${transcripts.length} transcripts`);
}
