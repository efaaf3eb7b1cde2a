// Ignition cannot continue after a crash between signing a transaction and noting that it was sent. So this file
// notes each transaction before it is sent.
import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { trackTransaction, wipe, type ArtifactResolver, type EIP1193Provider } from "@nomicfoundation/ignition-core";
import { keccak256, type Hex } from "viem";

interface Signed {
  readonly nonce: number;
  readonly raw: Hex;
}

interface Lost {
  readonly futureId: string;
  readonly nonce: number;
}

const SIGNED_FILE = "signed.jsonl";
/** TRANSACTION_LOST of Ignition. */
const LOST_CODE = /HHE10410:/;

export async function noteSigned(directory: string, nonce: number, raw: Hex): Promise<void> {
  await appendFile(join(directory, SIGNED_FILE), `${JSON.stringify({ nonce, raw })}\n`, { flush: true });
}

/**
 * Repairs the journal after Ignition refused to continue because of a lost transaction; returns false if it refused
 * for another reason.
 */
export async function recover(
  refusal: unknown,
  directory: string,
  provider: EIP1193Provider,
  artifactResolver: ArtifactResolver,
): Promise<boolean> {
  if (!(refusal instanceof Error && LOST_CODE.test(refusal.message) && "messageArguments" in refusal)) return false;
  const { futureId, nonce } = refusal.messageArguments as Lost;
  const signed = (await readSigned(directory)).findLast((one) => one.nonce === nonce);
  if (signed === undefined) {
    await wipe(directory, artifactResolver, futureId);
    return true;
  }
  // A transaction that the node knows or has mined is as good; the next line finds out.
  await provider.request({ method: "eth_sendRawTransaction", params: [signed.raw] }).catch(() => undefined);
  await trackTransaction(directory, keccak256(signed.raw), provider);
  return true;
}

async function readSigned(directory: string): Promise<readonly Signed[]> {
  const text = await readFile(join(directory, SIGNED_FILE), "utf8").catch(() => "");
  // A line that a crash cut was not sent.
  const whole = text.split("\n").slice(0, -1);
  return whole.map((line) => JSON.parse(line) as Signed);
}
