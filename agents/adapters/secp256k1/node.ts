/** "#secp256k1" in Node (package.json, `imports`): the fastest curve that works on this machine. */
import { isMainThread } from "node:worker_threads";
import type { Curve } from "../../core/encoding/curve.ts";
import { curve as noble } from "../../core/encoding/noble-curve.ts";
import { loadNative } from "./native.ts";
import { sound } from "./sound.ts";

/** Loads WebAssembly only where it is needed: it takes 40 ms to start. Null if the package is missing or damaged. */
async function loadWasm(): Promise<Curve | null> {
  try {
    return await (await import("./wasm.ts")).loadWasm();
  } catch {
    return null;
  }
}

/** Native code aborts the whole process when a worker thread is terminated while it signs. Recovery is safe there. */
function forThisThread(native: Curve | null): Curve | null {
  return native === null || isMainThread
    ? native
    : { ...noble, name: native.name, recover: (digest, rs, recovery) => native.recover(digest, rs, recovery) };
}

export const curve: Curve = sound(forThisThread(loadNative())) ?? sound(await loadWasm()) ?? noble;
