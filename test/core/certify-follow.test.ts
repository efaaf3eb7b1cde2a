import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { proposeOwnRoot, proposerOf } from "../../agents/core/seat/certify/proposals.ts";
import { PREVOTE, PROPOSE } from "../../agents/core/seat/certify/messages.ts";
import { initialCertify, type ProposedRoot, type CertifyContext } from "../../agents/core/seat/certify/state.ts";
import { certifyMessage, startCertify } from "../../agents/core/seat/certify/certify.ts";
import { sha256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { EVENT, EVENTS_PER_SEAT } from "../../agents/core/protocols/hashgraph/config.ts";
import { hashgraph } from "../../agents/core/protocols/hashgraph/index.ts";
import type { Conclusion, Protocol } from "../../agents/core/protocol.ts";
import { outcomeFrom } from "../../agents/core/phases/outcome.ts";
import { NOBODY_BLIND } from "../../agents/core/phases/pay.ts";
import type { Tally } from "../../agents/core/seat/tally.ts";
import { keyOf, signMessage, timing } from "../support/core/committee.ts";
import { hashgraphAttempt } from "../support/core/hashgraph-scripts.ts";
import { bareEvent, eventMessage, tallyOf } from "../support/core/hashgraph-world.ts";

const attempt = hashgraphAttempt(4);
const self = proposerOf(attempt, 3);
const slashes = attempt.committee.map(() => 0);
const through = { round: EVENTS_PER_SEAT - 1, phase: EVENT };
const winner = { answer: "yes", confidence: 1_000_000, alike: [] } as never;
const hung = {
  kind: "final",
  outcome: outcomeFrom(attempt, { winner: null, slashes, blind: NOBODY_BLIND, completed: [] }),
  through,
} as const;
const decided = {
  ...hung,
  outcome: outcomeFrom(attempt, { winner, slashes, blind: NOBODY_BLIND, completed: [] }),
} as const;
const open: Conclusion = { kind: "open" };

const eventOf = (seat: number) => eventMessage(attempt, seat, 0, bareEvent);
const [some, more] = [tallyOf([0, 1].map(eventOf)), tallyOf([0, 1, 2].map(eventOf))];
const blockOf = (name: string) => utf8(name);
const rootOf = (name: string) => sha256(blockOf(name));
const goodRoot = (name: string, tally: Tally, conclusion: typeof hung | typeof decided): ProposedRoot => ({
  kind: "good",
  tally,
  conclusion,
  rootBlock: blockOf(name),
});

function contextOf(concludes: (tally: Tally) => Conclusion): CertifyContext {
  const protocol: Protocol = { ...(hashgraph as Protocol), conclude: (_, tally) => concludes(tally) };
  return { attempt, self, secret: keyOf(99), timing, protocol, tally: some };
}

/** What a seat that held `inTime` says to a fresh root. */
function voteOn(proposed: ProposedRoot, context: CertifyContext, inTime: Tally): unknown {
  const ready = { ...initialCertify, roots: new Map([[rootOf("fresh"), proposed]]) };
  const proposal = signMessage(attempt, proposerOf(attempt, 0), PROPOSE, 0, {
    root: blockOf("fresh"),
    validRound: null,
  });
  const started = startCertify(ready, context, inTime);
  const { effects } = certifyMessage(started.state, context, proposal);
  const vote = effects.find((effect) => effect.kind === "send" && effect.phase === PREVOTE);
  return vote?.kind === "send" && vote.payload["root"] !== null;
}

describe("certify where it matters which two messages a void slot shows", () => {
  it("CE16: a seat whose messages in time are decided refuses a fresh root that is Hung, and not the other way round", () => {
    const { readsVoidSlots, ...other } = hashgraph as Protocol;
    assert.equal(readsVoidSlots, true);
    for (const [root, own, isAccepted] of [
      [hung, decided, false],
      [hung, hung, true],
      [hung, open, true],
      [decided, hung, true],
      [decided, decided, true],
    ] as const)
      assert.deepEqual(
        [
          root,
          own,
          voteOn(
            goodRoot("fresh", more, root),
            contextOf(() => own),
            some,
          ),
        ],
        [root, own, isAccepted],
      );
    const elsewhere = { ...contextOf(() => decided), protocol: { ...other, conclude: () => decided } };
    assert.equal(voteOn(goodRoot("fresh", more, hung), elsewhere, some), true);
  });

  it("CE16: a seat that follows proposes the first root that covers the messages it held in time, or nothing", () => {
    const context = contextOf(() => open);
    const short = ["short", goodRoot("short", some, decided)] as const;
    const whole = ["whole", goodRoot("whole", more, decided)] as const;
    const proposed = (...given: readonly (typeof short | typeof whole)[]) => {
      const roots = new Map(given.map(([name, root]) => [rootOf(name), root]));
      return proposeOwnRoot({ ...initialCertify, inTime: more, roots }, context)?.rootBlock ?? null;
    };
    assert.deepEqual(proposed(short, whole), blockOf("whole"));
    assert.equal(proposed(short), null);
  });
});
