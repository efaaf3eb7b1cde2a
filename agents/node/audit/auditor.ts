/** The part of an audit that computes, in a thread of its own: another thread delivers the chain and the blocks. */
import type { Digest } from "../../core/types.ts";
import type { VerifyReport } from "./report.ts";
import {
  inBatches,
  sentError,
  valueOf,
  type AtTurnEnd,
  type Delivered,
  type FromAuditor,
  type Settled,
  type ToAuditor,
} from "./thread-messages.ts";
import { verifyRequest } from "./verify.ts";

type Verification = Extract<ToAuditor, { kind: "verify" }>;

/** Begins to verify what it is told, and returns what hears it. */
export function startAuditor(
  post: (messages: readonly FromAuditor[]) => void,
  atTurnEnd: AtTurnEnd,
): (messages: readonly ToAuditor[]) => void {
  const send = inBatches(post, atTurnEnd);
  const waiting = new Map<number, (answer: Delivered) => void>();
  let calls = 0;

  const ask = (id: number, digest: Digest, signal?: AbortSignal): Promise<Delivered> => {
    const call = calls++;
    return new Promise((resolve) => {
      const forget = (): void => {
        waiting.delete(call);
        send({ kind: "forget", call });
        resolve({ error: sentError(signal?.reason) });
      };
      waiting.set(call, (answer) => {
        signal?.removeEventListener("abort", forget);
        resolve(answer);
      });
      signal?.addEventListener("abort", forget, { once: true });
      send({ kind: "call", call, id, digest });
    });
  };
  const verify = ({ id, domain, requestId, events, signatures, tellsProgress }: Verification): Promise<VerifyReport> =>
    verifyRequest({
      chain: { domain, requestEvents: async () => events, certificate: async () => signatures },
      store: { get: async (digest, signal) => valueOf(await ask(id, digest, signal)) },
      requestId,
      // The other side ends the thread.
      signal: new AbortController().signal,
      ...(tellsProgress && { onProgress: (step, done, total) => send({ kind: "progress", id, step, done, total }) }),
    });
  const serve = async (asked: Verification): Promise<void> => {
    const settled: Settled<VerifyReport> = await verify(asked).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: sentError(error) }),
    );
    send({ kind: "report", id: asked.id, settled });
  };

  send({ kind: "ready" });
  return (messages) => {
    for (const message of messages) {
      if (message.kind === "verify") {
        void serve(message);
        continue;
      }
      waiting.get(message.call)?.(message.answer);
      waiting.delete(message.call);
    }
  };
}
