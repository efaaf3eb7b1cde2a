/** Writes test/vectors/secp256k1.json; test/adapters/secp256k1.test.ts fails when the file is not what this writes. */
import { writeFileSync } from "node:fs";
import { makeSignatureVectors } from "../test/support/core/signature-vectors.ts";

const file = new URL("../test/vectors/secp256k1.json", import.meta.url);
writeFileSync(file, `${JSON.stringify(makeSignatureVectors(), null, 2)}\n`);
