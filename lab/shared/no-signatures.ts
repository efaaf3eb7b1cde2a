// Loaded before everything else. The simulator's stand-in replaces the curve, so that signatures cost nothing; hashes
// stay real.
import { registerHooks } from "node:module";

const standIn = new URL("../../sim/fast/secp256k1.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === "#secp256k1" ? { url: standIn, shortCircuit: true } : nextResolve(specifier, context),
});
