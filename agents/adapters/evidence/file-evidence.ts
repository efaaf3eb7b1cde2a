import { open, mkdir, readFile, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, AgentId, Digest, Hex, Ppm, RequestId, SeatIndex } from "../../core/types.ts";
import type { EquivocationProof } from "../../ports/chain.ts";
import { faultOf, maxKeptProofs, type EvidenceStore, type UnreadableProof } from "../../ports/evidence.ts";
import { parseJson } from "../json.ts";

const uint32 = z.int().min(0).max(0xffff_ffff);
const digest = z.custom<Digest>((value) => typeof value === "string" && /^0x[0-9a-f]{64}$/.test(value));
const signature = z.custom<Hex>((value) => typeof value === "string" && /^0x[0-9a-f]{130}$/.test(value));
const signedPayload = z.strictObject({ payloadDigest: digest, signature });
const seatBits = z
  .string()
  .regex(/^\d{1,20}$/)
  .transform((text) => BigInt(text))
  .refine((bits) => bits < 1n << 64n);
const signedDecision = z.strictObject({
  decision: z.strictObject({
    status: z.int().min(0).max(0xff),
    outcome: digest,
    answerHash: digest,
    confidence: uint32.transform((ppm) => ppm as Ppm),
    answered: seatBits,
    agreed: seatBits,
    transcript: digest,
    reputationChangesHash: digest,
    sharesHash: digest,
  }),
  signature,
});
const place = { requestHash: digest, committeeHash: digest, attempt: uint32, round: uint32 };
const accusation = {
  request: z.strictObject({
    id: z
      .string()
      .regex(/^\d{1,39}$/)
      .transform((text) => BigInt(text) as RequestId),
    consumer: z.custom<Address>((value) => typeof value === "string" && /^0x[0-9a-f]{40}$/.test(value)),
    terms: z
      .string()
      .regex(/^\d{1,78}$/)
      .transform((text) => BigInt(text)),
    questionHash: digest,
  }),
  agentId: uint32.transform((id) => id as AgentId),
};
const seat = uint32.transform((index) => index as SeatIndex);
const proofSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("messages"),
    ...accusation,
    slot: z.strictObject({ ...place, protocol: uint32, phase: uint32, seat }),
    first: signedPayload,
    second: signedPayload,
  }),
  z.strictObject({
    kind: z.literal("decisions"),
    ...accusation,
    slot: z.strictObject(place),
    first: signedDecision,
    second: signedDecision,
  }),
]);

const NAME = /^(\d{39})-\d+-\d+\.json$/;

/** Keeps each proof in a JSON file. */
export function createFileEvidence(folder: string): EvidenceStore {
  const names = async (): Promise<readonly string[]> => {
    const found = await readdir(folder).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return [];
      const message = `Read ${folder} failed (${code}): whether evidence is kept there is not known; make it a folder that can be read`;
      throw new ConclaveError("CONFIG_INVALID", message, { path: folder }, error);
    });
    return found.filter((name) => NAME.test(name)).toSorted();
  };
  return {
    list: async () => {
      const found = await Promise.all((await names()).map((name) => readProof(folder, name)));
      return {
        proofs: found.flatMap((one) => (one !== null && "kind" in one ? one : [])),
        unreadable: found.flatMap((one) => (one !== null && "path" in one ? one : [])),
      };
    },
    keep: async (proof) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const kept = await names();
      const name = `${faultOf(proof)}.json`;
      const same = kept.includes(name) ? await readProof(folder, name) : null;
      // A proof that cannot be read slashes nobody.
      if (same !== null && "kind" in same) return false;
      const text = JSON.stringify(proof, (_, value: unknown) => (typeof value === "bigint" ? String(value) : value), 2);
      await write(folder, name, text);
      for (const old of kept.slice(0, Math.max(0, kept.length + 1 - maxKeptProofs))) await rm(join(folder, old));
      return true;
    },
  };
}

/** Writes the whole file or nothing. */
async function write(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `${name}.new`);
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(`${text}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}

/** Reads a file; null if it was removed meanwhile. */
async function readProof(folder: string, name: string): Promise<EquivocationProof | UnreadableProof | null> {
  const path = join(folder, name);
  const unreadable = { path, requestId: BigInt(NAME.exec(name)?.[1] ?? "") as RequestId };
  try {
    return proofSchema.safeParse(parseJson(await readFile(path, "utf8"))).data ?? unreadable;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? null : unreadable;
  }
}
