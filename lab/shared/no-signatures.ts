// Loaded before everything else: signatures cost nothing, by the simulator's stand-in for the curve. Hashes stay as they are.
import { registerHooks } from "node:module";

const standIn = new URL("../../sim/fast/secp256k1.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, nextResolve) =>
    specifier === "#secp256k1" ? { url: standIn, shortCircuit: true } : nextResolve(specifier, context),
});
