import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { decodeMessage } from "../../agents/core/encoding/transcript.ts";
import type { PayloadMap } from "../../agents/core/protocol.ts";
import type { Decision, SeatIndex } from "../../agents/core/types.ts";
import { checkers, violationsIn, type CheckerName } from "../../sim/checkers/index.ts";
import { BYZANTINE_KINDS, FAULTS, SOURCE_FAULTS } from "../../sim/options.ts";
import { createPlan } from "../../sim/plan.ts";
import type { SeatTrace, Trace } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import { assertIncludes } from "../support/assertions.ts";
import { bodyIn } from "../support/core/sources-scripts.ts";

/** Changes one sound run of a question with a source by hand, and asks the checkers about it. */
for (const protocol of ["mbft", "hashgraph"])
  describe(`checkers of worlds with sources: ${protocol}`, () => {
    let good: Trace;
    let seat: SeatIndex;
    before(async () => {
      const options = { protocol, n: 4, byzantine: 1, faults: [], byzantineKinds: ["lying"] as const };
      good = await runWorld(createPlan({ ...options, kind: "boolean", errorPpm: 0, sources: ["right"] }, 1));
      assert.deepEqual(violationsIn(good), []);
      const first = good.seats.find(({ byzantine }) => byzantine === null)!;
      assert.equal(first.certificates[0]!.certificate.decision.status, "decided");
      seat = first.seat;
    });

    const says = (name: CheckerName, trace: Trace): string => checkers[name](trace).join("; ");
    const bend = (change: (one: SeatTrace) => Partial<SeatTrace>, only?: SeatIndex): Trace => ({
      ...good,
      seats: good.seats.map((one) => ((only ?? one.seat) === one.seat ? { ...one, ...change(one) } : one)),
    });
    const decide = (change: Partial<Decision>): Trace =>
      bend(({ certificates }) => ({
        certificates: certificates.map(({ at, certificate }) => ({
          at,
          certificate: { ...certificate, decision: { ...certificate.decision, ...change } },
        })),
      }));

    it("SI13: reports a passage that no honest seat read, and an answer that no source bears", () => {
      const elsewhere = bend(() => ({ read: [{ source: 0, text: "Another page." }] }));
      assertIncludes(says("sources", elsewhere), "no honest seat read");
      const other = good.truth === "yes" ? "no" : "yes";
      // The liar says so, but cites nothing that counts.
      assertIncludes(says("sources", decide({ answer: other })), `no source bears "${other}"`);
      let kept = 0;
      const single: Trace = {
        ...good,
        block: (digest) => {
          const bytes = good.block(digest);
          const message = bytes === null ? null : decodeMessage(bytes);
          const isGathering = message !== null && "sources" in bodyIn(message.payload as PayloadMap);
          return isGathering && kept++ > 0 ? null : bytes;
        },
      };
      // Without these events nothing that rests on them is in the graph, so nobody is bound to an answer.
      const found = protocol === "mbft" ? "is paid for an answer that no source bears" : "no source bears";
      assertIncludes(says("sources", single), found);
    });

    it("SI13: reports a model that was shown what its seat did not read, and a seat that answers without reading", () => {
      const foreign = bend(({ shown }) => ({ shown: [...shown, { source: 0, text: "Another's page." }] }), seat);
      assertIncludes(says("sources", foreign), `the model of seat ${seat} was shown what it did not read at source 0`);
      assertIncludes(
        says(
          "sources",
          bend(() => ({ read: [], shown: [] }), seat),
        ),
        `seat ${seat} read nothing, and answered`,
      );
    });

    it("SI13: reports a non-answer where all honest seats read the same passage, and none where they did not", () => {
      const none = decide({ status: "unanswerable" });
      assertIncludes(says("sources", none), "and none could cite it");
      const early = decide({ status: "tooEarly" });
      const toCome = good.sources!.pages.map(
        (page) => ({ ...page, absence: "not-final", texts: page.texts.map(() => null) }) as const,
      );
      const toComeForOne = toCome.map((page) => ({
        ...page,
        texts: page.texts.map((_, at) => (at === seat ? null : "")),
      }));
      const hastened = "it is too early, though no source is still to come";
      assertIncludes(says("sources", early), hastened);
      const earlyWith = (pages: NonNullable<Trace["sources"]>["pages"]): string =>
        says("sources", { ...early, sources: { ...good.sources!, pages } });
      assert.ok(!earlyWith(toCome).includes(hastened));
      assertIncludes(earlyWith(toComeForOne), hastened);
      const apart = none.seats.map((one) => ({
        ...one,
        read: [{ source: 0, text: `Read by ${one.seat}.` }],
        shown: [],
      }));
      assert.equal(says("sources", { ...none, seats: apart }), "");
      const calm = { ...none, seats: none.seats.map((one) => ({ ...one, byzantine: null })) };
      assertIncludes(says("termination", calm), "holds unanswerable, and nothing went wrong");
    });

    it("SI6: Hung is excused by a page that does not show everybody the truth, and by nothing less", () => {
      const hung = decide({ status: "hung" });
      const calm = { ...hung, seats: hung.seats.map((one) => ({ ...one, byzantine: null })) };
      assertIncludes(says("termination", calm), "holds hung, and nothing went wrong");
      const pages = good.sources!.pages.map((page) => ({ ...page, fault: "gone" }) as const);
      assert.equal(says("termination", { ...calm, sources: { ...good.sources!, pages } }), "");
    });

    it("SI4: a fall is excused by a page that lied to the seat, and by no other seat's", () => {
      const fallen = decide({ reputationChanges: [{ seat, steps: -1 }] });
      const lied = (...fooled: readonly SeatIndex[]): Trace => ({
        ...fallen,
        sources: { ...good.sources!, fooled: new Set(fooled) },
      });
      assert.equal(says("no-honest-slash", lied(seat)), "");
      assertIncludes(says("no-honest-slash", lied()), `slashes honest seat ${seat}`);
    });
  });

describe("checkers of worlds with sources: numbers", () => {
  it("SI13: reports a non-answer where any two numbers of honest seats agree, not where one agrees with two that do not", async () => {
    const options = {
      protocol: "escalating",
      n: 4,
      byzantine: 1,
      faults: ["crash"],
      byzantineKinds: ["twin"],
    } as const;
    // Seat 1 read -2921.86, within the tolerance of 0's -2921.94 and 3's -2921.77, and was away when it should say so.
    const trace = await runWorld(
      createPlan({ ...options, kind: "number", errorPpm: 0, sources: ["moving"] }, 75_007_899),
    );
    assert.deepEqual(violationsIn(trace), []);
    const reading = (...texts: readonly string[]): string =>
      checkers
        .sources({
          ...trace,
          seats: trace.seats.map((one) => ({
            ...one,
            read: texts.slice(one.seat, one.seat + 1).map((text) => ({ source: 0, text })),
          })),
        })
        .join("; ");
    const reported = "all honest seats read -2921.94 within the tolerance, and none could cite it";
    assert.equal(reading("-2921.94", "-2921.86", "0", "-2921.87"), reported);
    assert.equal(reading("-2921.94", "-2921.86", "0", "-2921.77"), "");
    assert.equal(reading("-2921.94", "-2921.94", "0"), "");
  });
});

describe("checkers of a hashgraph with sources", () => {
  it("SI11, SI12: what a liar copies from another seat's line is not in its own, though both read the same", async () => {
    const options = {
      protocol: "hashgraph",
      n: 4,
      byzantine: 1,
      faults: ["delay"],
      byzantineKinds: ["equivocating"],
    } as const;
    const plan = createPlan({ ...options, kind: "boolean", errorPpm: 0, sources: SOURCE_FAULTS }, 41_000_812);
    assert.deepEqual(violationsIn(await runWorld(plan)), []);
  });
});

describe("checkers of worlds with sources: a forker with three faces", () => {
  for (const seed of [41_005_227, 41_009_767])
    it(`HG6: what follows on the third face counts for nobody, and no other event waits for it: seed ${seed}`, async () => {
      const options = { protocol: "hashgraph", n: 4, byzantine: 1, faults: FAULTS, byzantineKinds: BYZANTINE_KINDS };
      const trace = await runWorld(createPlan({ ...options, kind: null, errorPpm: 0, sources: SOURCE_FAULTS }, seed));
      assert.deepEqual(violationsIn(trace), []);
    });
});
