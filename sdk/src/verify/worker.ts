/** The script of a worker that verifies: `new Worker(url of @conclave/sdk/verify-worker, { type: "module" })`. */
import type { FromAuditor, ToAuditor } from "../../../agents/node/audit/thread-messages.ts";

let waiting: readonly ToAuditor[] = [];
let hear = (messages: readonly ToAuditor[]): void => {
  waiting = [...waiting, ...messages];
};
addEventListener("message", ({ data }: MessageEvent<readonly ToAuditor[]>) => hear(data));

/** Loaded after the listener is there: to load it takes a while, and what is told meanwhile must not be lost. */
async function begin(): Promise<void> {
  const { startAuditor } = await import("../../../agents/node/audit/auditor.ts");
  hear = startAuditor((messages: readonly FromAuditor[]) => postMessage(messages), queueMicrotask);
  hear(waiting);
}

// Not awaited: Vite makes a classic script of a worker, which cannot await at its top. Whoever started the worker hears of a failure by its
// error event.
begin().catch(reportError);
