/**
 * A thread that verifies: it checks hashes and signatures and replays; audit-pool.ts delivers the chain and the blocks.
 */
import { parentPort } from "node:worker_threads";
import { type VerifyReport } from "../../node/audit/report.ts";
import { verifyRequest } from "../../node/audit/verify.ts";
import type { Digest } from "../../core/types.ts";
import {
  inBatches,
  sentError,
  valueOf,
  type Delivered,
  type FromAuditor,
  type Settled,
  type ToAuditor,
} from "./audit-messages.ts";

const port = parentPort;
if (port === null) throw new Error("Use `conclave verify`; this file is its worker");

const waiting = new Map<number, (answer: Delivered) => void>();
let calls = 0;

const send = inBatches<FromAuditor>((messages) => port.postMessage(messages));

function ask(id: number, digest: Digest, signal?: AbortSignal): Promise<Delivered> {
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
}

async function verify({
  id,
  domain,
  requestId,
  events,
  signatures,
}: Extract<ToAuditor, { kind: "verify" }>): Promise<VerifyReport> {
  return verifyRequest({
    chain: {
      domain,
      requestEvents: async () => events,
      certificate: async () => signatures,
    },
    store: { get: async (digest, signal) => valueOf(await ask(id, digest, signal)) },
    requestId,
    // The pool ends the thread.
    signal: new AbortController().signal,
  });
}

async function serve(task: Extract<ToAuditor, { kind: "verify" }>): Promise<void> {
  const settled: Settled<VerifyReport> = await verify(task).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: sentError(error) }),
  );
  send({ kind: "report", id: task.id, settled });
}

function hear(message: ToAuditor): void {
  if (message.kind === "verify") {
    void serve(message);
    return;
  }
  waiting.get(message.call)?.(message.answer);
  waiting.delete(message.call);
}

port.on("message", (messages: readonly ToAuditor[]) => messages.forEach(hear));
send({ kind: "ready" });
