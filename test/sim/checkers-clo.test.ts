import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { digestOf } from "../../agents/core/encoding/codec.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import type { Header, Message } from "../../agents/core/types.ts";
import { checkClo } from "../../sim/checkers/clo.ts";
import { createPlan } from "../../sim/plan.ts";
import { simSigner } from "../../sim/signer.ts";
import type { Trace } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import { assertIncludes } from "../support/assertions.ts";

const says = (trace: Trace): string => checkClo(trace).join("; ");

const isBlockOf = (bytes: Uint8Array | null, { signature }: Message): boolean =>
  Buffer.from(bytes ?? []).includes(Buffer.from(hexToBytes(signature)));

/** The trace with a transcript that lacks these messages. */
const without = (trace: Trace, ...left: readonly Message[]): Trace => ({
  ...trace,
  block: (digest) => {
    const bytes = trace.block(digest);
    return left.some((one) => isBlockOf(bytes, one)) ? null : bytes;
  },
});

describe("checker of clo", () => {
  it("SI14 clo: counts only answers that open a commitment and were listed in time", async () => {
    const options = { protocol: "clo", n: 4, byzantine: 0, faults: [], byzantineKinds: [], kind: "number" as const };
    const world = await runWorld(createPlan({ ...options, errorPpm: 0, sources: [] }, 4));
    const of = (phase: number, ...seats: readonly number[]) =>
      seats.map((seat) => world.messages.get(`${phase}.0.${seat}`)![0]!);
    assert.equal(says(world), "");
    assert.equal(says(without(world, ...of(1, 0, 1))), "");
    assertIncludes(says(without(world, ...of(1, 0, 1, 2))), "1 seats gave");
    assertIncludes(says(without(world, ...of(200, 0, 1))), "0 seats gave");
    // A second message in the place of a CLOSE that is not needed.
    const [commit, close] = [of(1, 0)[0]!, of(200, 3)[0]!];
    const payload = { commitment: null };
    const header: Header = { ...commit.header, payloadDigest: digestOf(payload) };
    const second = { header, payload, signature: simSigner(0).sign(messageDigest(world.attempt, header)) };
    const lone = without(world, ...of(1, 1, 2));
    assert.equal(says(lone), "");
    const voided: Trace = {
      ...lone,
      block: (digest) => {
        const bytes = lone.block(digest);
        return isBlockOf(bytes, close) ? encodeMessage(second) : bytes;
      },
    };
    assertIncludes(says(voided), "1 seats gave");
  });
});
