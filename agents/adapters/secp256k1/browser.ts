/** "#secp256k1" in browsers (package.json, `imports`), and in Node with `--conditions=wasm`. */
import type { Curve } from "../../core/encoding/curve.ts";
import { curve as noble } from "../../core/encoding/noble-curve.ts";
import { sound } from "./sound.ts";
import { loadWasm } from "./wasm.ts";

export const curve: Curve = sound(await loadWasm()) ?? noble;
