import { expect } from "chai";
import { describe, it } from "node:test";
import { refuseMessage } from "../../agents/core/transcript.ts";
import type { Attempt, RequestId, SeatIndex } from "../../agents/core/types.ts";
import { attemptOf, signMessage } from "./committee.ts";

describe("TR3: why a message is not one of an attempt's", () => {
  const attempt = attemptOf(4);
  const said = (by: Attempt): ReturnType<typeof signMessage> => signMessage(by, 1, 1, 0, { commitment: null });

  it("a good one is refused for nothing", () => {
    expect(refuseMessage(attempt, said(attempt))).to.equal(null);
  });

  it("other-attempt: another attempt of the request, or another request, however well signed", () => {
    expect(refuseMessage(attempt, said({ ...attempt, attempt: 5 }))).to.equal("other-attempt");
    const request = { ...attempt.request, id: (attempt.request.id + 1n) as RequestId };
    expect(refuseMessage(attempt, said({ ...attempt, request }))).to.equal("other-attempt");
  });

  it("other-protocol, no-such-seat, bad-signature", () => {
    const message = said(attempt);
    const bend = (change: Partial<typeof message.header>): string | null =>
      refuseMessage(attempt, { ...message, header: { ...message.header, ...change } });
    expect(bend({ protocol: 2 })).to.equal("other-protocol");
    expect(bend({ seat: 9 as SeatIndex })).to.equal("no-such-seat");
    expect(bend({ seat: 2 as SeatIndex })).to.equal("bad-signature");
    expect(bend({ round: 1 })).to.equal("bad-signature");
  });
});
