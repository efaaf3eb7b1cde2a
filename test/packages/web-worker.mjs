// A thread of Node with what a script of a web worker uses, and nothing else, so that tests run the script that pages run.
import { parentPort, workerData } from "node:worker_threads";

// A worker has no origin, unlike a window.
// eslint-disable-next-line unicorn/require-post-message-target-origin
globalThis.postMessage = (message) => parentPort.postMessage(message);
globalThis.addEventListener = (name, listener) => parentPort.on(name, (data) => listener({ data }));
globalThis.reportError = (error) =>
  queueMicrotask(() => {
    throw error;
  });
for (const name of ["Buffer", "process", "setImmediate", "clearImmediate"]) delete globalThis[name];
await import(workerData.script);
