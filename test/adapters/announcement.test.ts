import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, it } from "node:test";
import { decode } from "../../agents/core/encoding/codec.ts";
import { decodeRequestId, hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import type { RequestId, Value } from "../../agents/core/types.ts";
import { announcementTopic, encodeAnnouncement } from "../../agents/node/announcement.ts";
import { attemptOf, withId } from "../support/core/committee.ts";
import { assertFields } from "../support/assertions.ts";

describe("announcements", () => {
  const attempt = attemptOf(4);
  const root = sha256(Uint8Array.of(1));

  it("TR5: name a transcript and its request, whatever the id", () => {
    const requestIds = fc.bigInt(0n, 2n ** 128n - 1n) as fc.Arbitrary<RequestId>;
    fc.assert(
      fc.property(requestIds, (id) => {
        const heard = decode(encodeAnnouncement(withId(attempt, id), root), 128) as Record<string, Value>;
        assert.equal(decodeRequestId(heard["requestId"]), id);
        assertFields(heard, { attempt: attempt.attempt });
        assert.deepEqual(heard["root"], hexToBytes(root));
      }),
    );
  });

  it("of one oracle have a topic of their own", () => {
    const { chainId, oracle } = attempt.domain;
    assert.equal(announcementTopic(attempt.domain), `conclave/2/${chainId}/${oracle}/certified`);
  });
});
