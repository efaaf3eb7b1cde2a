import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";

import type { Digest } from "../../agents/core/types.ts";
import type { Signer } from "../../agents/ports/signer.ts";

export function signerSuite(adapter: string, create: () => Signer): void {
  const digest = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}` as Digest);

  describe(`signer: ${adapter}`, () => {
    it("signs deterministically, with low s and v 27 or 28; the signature recovers to its public key", () => {
      const signer = create();
      const seen = new Set<string>();
      fc.assert(
        fc.property(digest, (message) => {
          const signature = signer.sign(message);
          assert.match(signature, /^0x[0-9a-f]{128}1[bc]$/u);
          assert.equal(create().sign(message), signature);
          const parsed = secp256k1.Signature.fromHex(signature.slice(2, 130), "compact");
          assert.ok(!parsed.hasHighS());
          const v = Number.parseInt(signature.slice(130), 16);
          const point = parsed.addRecoveryBit(v - 27).recoverPublicKey(Buffer.from(message.slice(2), "hex"));
          assert.deepEqual(point.toBytes(false).slice(1), signer.publicKey);
          seen.add(signature.slice(130));
        }),
        { numRuns: 30 },
      );
      assert.deepEqual([...seen].toSorted(), ["1b", "1c"]);
    });

    it("derives one secret per purpose", () => {
      const signer = create();
      const secret = signer.deriveSecret("salt/1/0");
      assert.equal(secret.length, 32);
      assert.deepEqual(create().deriveSecret("salt/1/0"), secret);
      assert.notDeepEqual(signer.deriveSecret("salt/1/1"), secret);
      assert.notDeepEqual(signer.deriveSecret(""), secret);
    });

    it("gives its address as 20 and its public key as 64 bytes, in lower case", () => {
      const { address, publicKey } = create();
      assert.match(address, /^0x[0-9a-f]{40}$/u);
      assert.equal(publicKey.length, 64);
    });
  });
}
