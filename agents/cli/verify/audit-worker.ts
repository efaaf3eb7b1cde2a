/**
 * A thread that verifies: it checks hashes and signatures and replays; audit-pool.ts delivers the chain and the blocks.
 */
import { parentPort } from "node:worker_threads";
import { startAuditor } from "../../node/audit/auditor.ts";
import type { ToAuditor } from "../../node/audit/thread-messages.ts";

const port = parentPort;
if (port === null) throw new Error("Use `conclave verify`; this file is its worker");

const hear = startAuditor((messages) => port.postMessage(messages), setImmediate);
port.on("message", (messages: readonly ToAuditor[]) => hear(messages));
