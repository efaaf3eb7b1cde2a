import { decodeMessage, forgeryIn } from "../../core/encoding/transcript.ts";
import type { Attempt, Digest, Message } from "../../core/types.ts";
import { fetchBlock, requireBlock, type Fetched } from "./blocks.ts";
import { Failed, type Audit } from "./report.ts";

/** Blocks fetched at once. */
const CONCURRENCY = 16;

interface CheckedMessage {
  readonly digest: Digest;
  readonly message: Message;
}

/** Checks the messages in the order of the root's links, so that a failure names the first block that fails. */
export async function checkMessages(
  audit: Audit,
  attempt: Attempt,
  digests: readonly Digest[],
): Promise<readonly CheckedMessage[]> {
  const { options } = audit;
  const leaving = new AbortController();
  const signal = AbortSignal.any([options.signal, leaving.signal]);
  const pending: Promise<Fetched>[] = [];
  const messages: CheckedMessage[] = [];
  try {
    for (const [index, digest] of digests.entries()) {
      for (const ahead of digests.slice(index + pending.length, index + CONCURRENCY))
        pending.push(fetchBlock(options, ahead, signal));
      const bytes = requireBlock("messages", digest, await (pending.shift() as Promise<Fetched>));
      audit.blocks += 1;
      const message = decodeMessage(bytes);
      if (message === null) throw new Failed("messages", "it is no message", digest);
      const refused = forgeryIn(attempt, message);
      if (refused !== null) throw new Failed("messages", refusalText(refused, message), digest);
      audit.messageSignatures += 1;
      messages.push({ digest, message });
      options.onProgress?.("messages", messages.length, digests.length);
    }
  } catch (error) {
    // The blocks that were asked for ahead are not needed any more.
    leaving.abort();
    throw error;
  }
  return messages;
}

function refusalText(refused: string, { header }: Message): string {
  const place = `round ${header.round}, phase ${header.phase}, seat ${header.seat}`;
  return refused === "bad-signature"
    ? `bad signature: not that of the seat's agent (${place})`
    : `${refused} (${place})`;
}
