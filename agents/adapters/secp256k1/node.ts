/** "#secp256k1" in Node (package.json, `imports`): the fastest curve that works on this machine. */
import type { Curve } from "../../core/encoding/curve.ts";
import { curve as noble } from "../../core/encoding/noble-curve.ts";
import { loadNative } from "./native.ts";
import { sound } from "./sound.ts";

/** WebAssembly takes 40 ms to start: only where it is needed. */
async function loadWasm(): Promise<Curve | null> {
  return (await import("./wasm.ts")).loadWasm();
}

export const curve: Curve = sound(loadNative()) ?? sound(await loadWasm()) ?? noble;
