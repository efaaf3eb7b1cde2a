import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { checkers, violationsIn, offBeyondF, type CheckerName } from "../../sim/checkers/index.ts";
import { decodeBlock, digestOf, encodeBlock } from "../../agents/core/encoding/codec.ts";
import type { BlockValue } from "../../agents/core/encoding/block-value.ts";
import { hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { messageDigest } from "../../agents/core/encoding/typed-data.ts";
import { limits } from "../../agents/core/limits.ts";
import { encodeMessage } from "../../agents/core/encoding/transcript.ts";
import {
  ABSENT,
  type Digest,
  type Header,
  type Message,
  type Ppm,
  type SeatIndex,
  type Value,
} from "../../agents/core/types.ts";
import { unanimous } from "../../agents/core/protocols/unanimous/index.ts";
import { createPlan } from "../../sim/plan.ts";
import { simSigner } from "../../sim/signer.ts";
import { slotOf, type Certified, type SeatTrace, type Trace } from "../../sim/trace.ts";
import { runWorld } from "../../sim/world.ts";
import { assertIncludes, assertIncludesAll, assertSameMembers } from "../support/assertions.ts";

/** Changes one sound run with real signatures by hand, and asks the checkers about it. */
describe("checkers", () => {
  let good: Trace;
  before(async () => {
    const options = { protocol: "mbft", n: 4, byzantine: 1, faults: [], byzantineKinds: ["lying"] as const };
    good = await runWorld(createPlan({ ...options, kind: "boolean", errorPpm: 0, sources: [] }, 4));
    assert.deepEqual(violationsIn(good), []);
  });

  const honest = (trace: Trace): SeatTrace => trace.seats.find(({ byzantine }) => byzantine === null)!;
  const bend = (seat: SeatIndex, change: (one: SeatTrace) => Partial<SeatTrace>, trace = good): Trace => ({
    ...trace,
    seats: trace.seats.map((one) => (one.seat === seat ? { ...one, ...change(one) } : one)),
  });
  const decide = (change: Partial<Certified["certificate"]["decision"]>): Trace =>
    bend(honest(good).seat, ({ certificates: [first] }) => ({
      certificates: [
        { ...first!, certificate: { ...first!.certificate, decision: { ...first!.certificate.decision, ...change } } },
      ],
    }));
  const everywhere = (change: Partial<SeatTrace>): Trace => ({
    ...good,
    seats: good.seats.map((one) => ({ ...one, ...change })),
  });
  const says = (name: CheckerName, trace: Trace): string => checkers[name](trace).join("; ");
  const message = (seat: number, phase: number, round: number, payload: Value): Message => {
    const { request } = good.attempt;
    const header: Header = {
      requestId: request.id,
      attempt: 0,
      protocol: 1,
      phase,
      round,
      seat: seat as SeatIndex,
      payloadDigest: digestOf(payload),
    };
    return { header, payload, signature: simSigner(seat).sign(messageDigest(good.attempt, header)) };
  };
  const withMessages = (...extra: readonly Message[]): Trace => {
    const messages = new Map(good.messages);
    for (const one of extra) messages.set(slotOf(one), [...(messages.get(slotOf(one)) ?? []), one]);
    return { ...good, messages };
  };

  /** The trace with a transcript that lacks these messages. */
  const without = (trace: Trace, ...left: readonly Message[]): Trace => ({
    ...trace,
    block: (digest) => {
      const bytes = trace.block(digest);
      const isLeft = ({ signature }: Message) => Buffer.from(bytes ?? []).includes(Buffer.from(hexToBytes(signature)));
      return left.some(isLeft) ? null : bytes;
    },
  });

  it("SI1 agreement: reports another answer and another transcript", () => {
    assertIncludes(says("agreement", decide({ answer: "maybe" })), "maybe");
    assertIncludes(says("agreement", decide({ transcript: `0x${"ab".repeat(32)}` as Digest })), "0xabababab");
    assert.equal(says("agreement", decide({ round: 9 })), "");
  });

  it("SI2 validity: reports a lie, and with models that err an answer that none gave; nothing beyond f; a chair's word only if others agree", () => {
    const lie = good.truth === "yes" ? "no" : "yes";
    assertIncludes(says("validity", decide({ answer: lie })), "the truth is");
    const erring = { ...decide({ answer: lie }), truthful: false };
    assertIncludes(says("validity", erring), "no honest seat");
    assert.equal(
      says(
        "validity",
        bend(honest(good).seat, () => ({ approved: [lie] }), erring),
      ),
      "",
    );
    assert.equal(says("validity", { ...decide({ answer: lie }), tolerable: false }), "");
    const chair = { ...good.protocol, assurance: "chair" } as const;
    const word = (confidence: number) => ({
      ...decide({ answer: lie, confidence: confidence as Ppm }),
      protocol: chair,
    });
    assert.equal(says("validity", word(333_333)), "");
    assertIncludes(says("validity", word(333_334)), "nobody honest");
    assert.equal(says("validity", { ...word(1_000_000), truthful: false }), "");
  });

  it("SI2 validity: of a set that unanimous decides, each policy has to be an honest seat's, and the set no seat's", () => {
    const { protocol, attempt } = good;
    const terms = { ...attempt.request.terms, kind: "policies", options: 4 } as const;
    const asked = { ...attempt, request: { ...attempt.request, terms } };
    const isRefused = (answer: string, by: Trace["protocol"]): boolean => {
      const decided = { ...decide({ answer }), protocol: by, attempt: asked, truth: "D", truthful: false };
      const [one, other] = decided.seats.filter(({ byzantine }) => byzantine === null);
      const withOne = bend(one!.seat, () => ({ approved: ["A,B"] }), decided);
      const withBoth = bend(other!.seat, () => ({ approved: ["C"] }), withOne);
      // The other seats hold what the good run decided.
      return says("validity", withBoth).includes(`"${answer}", which no honest seat`);
    };
    assert.equal(isRefused("A,C", unanimous), false);
    assert.equal(isRefused("A,D", unanimous), true);
    assert.equal(isRefused("A,C", protocol), true);
  });

  it("SI3 certificate uniqueness: reports too few signatures, forged ones and a rival transcript", () => {
    const resigned = (change: (one: Certified) => Certified["certificate"]["signatures"]): Trace =>
      bend(honest(good).seat, ({ certificates: [first] }) => ({
        certificates: [{ ...first!, certificate: { ...first!.certificate, signatures: change(first!) } }],
      }));
    const few = resigned(({ certificate }) => certificate.signatures.slice(1));
    assertIncludes(says("certificate-uniqueness", few), "2 valid signatures");
    const forged = resigned(({ certificate }) =>
      certificate.signatures.map((one) => ({ ...one, signature: certificate.signatures[0]!.signature })),
    );
    assertIncludes(says("certificate-uniqueness", forged), "1 valid signatures");
    const root = new Uint8Array(32).fill(7);
    const rivals = [0, 1, 2].map((seat) => message(seat, 203, 5, { root, signature: new Uint8Array(65) }));
    assertIncludes(says("certificate-uniqueness", withMessages(...rivals)), "more than 2/3 signed for each");
    assert.equal(says("certificate-uniqueness", withMessages(...rivals.slice(1))), "");
  });

  it("SI4 no honest slash: reports a step down, two payloads in a slot, evidence or two decisions against an honest seat", () => {
    const { seat } = honest(good);
    assertIncludes(says("no-honest-slash", decide({ reputationChanges: [{ seat, steps: -1 }] })), "slashes");
    const twice = [message(seat, 202, 8, { root: null }), message(seat, 202, 8, { root: new Uint8Array(32) })];
    assertIncludes(says("no-honest-slash", withMessages(...twice)), "two payloads");
    const accused = bend(seat, () => ({ evidence: [{ first: twice[0]!, second: twice[1]! }] }));
    assertIncludes(says("no-honest-slash", accused), "evidence against honest seat");
    const { certificate } = honest(good).certificates[0]!;
    const { decision } = certificate;
    const { signature } = certificate.signatures[0]!;
    const conflict = (one: SeatIndex) => ({
      seat: one,
      first: { decision, signature },
      second: { decision, signature },
    });
    const twoDecisions = (one: SeatIndex): Trace => bend(seat, () => ({ conflicts: [conflict(one)] }));
    assertIncludes(says("no-honest-slash", twoDecisions(seat)), "evidence against honest seat");
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    assert.equal(says("no-honest-slash", twoDecisions(liar)), "");
    assert.equal(says("no-honest-slash", decide({ reputationChanges: [{ seat: liar, steps: -1 }] })), "");
  });

  it("SI5 accountability: requires evidence of two messages that one seat holds, or two seats together", () => {
    const { seat } = honest(good);
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    const first = [...good.messages.values()].flat().find(({ header }) => header.seat === liar && header.phase === 1)!;
    const second = message(liar, 1, 0, { commitment: new Uint8Array(32) });
    const took = (...messages: readonly Message[]): Partial<SeatTrace> => ({
      took: new Map([[slotOf(first), messages]]),
    });
    assertIncludes(
      says(
        "accountability",
        bend(seat, () => took(first, second)),
      ),
      "raised no evidence",
    );
    const other = good.seats.find((one) => one.byzantine === null && one.seat !== seat)!.seat;
    const apart = bend(
      other,
      () => took(second),
      bend(seat, () => took(first)),
    );
    assertIncludes(says("accountability", apart), "none raised evidence");
    assert.equal(
      says(
        "accountability",
        bend(seat, () => ({ evidence: [{ first, second }] }), apart),
      ),
      "",
    );
  });

  it("SI5 accountability: requires a slash for two messages of one slot in the transcript", () => {
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    const { transcript } = honest(good).certificates[0]!.certificate.decision;
    const root = decodeBlock(good.block(transcript)!, limits.rootBytes) as { readonly messages: BlockValue[] };
    const second = encodeMessage(message(liar, 1, 0, { commitment: new Uint8Array(32) }));
    const doctored = encodeBlock({ ...root, messages: [...root.messages, { link: sha256(second) }] });
    const block: Trace["block"] = (digest) =>
      digest === transcript ? doctored : digest === sha256(second) ? second : good.block(digest);
    // In this world the liar is slashed for something else.
    const spared = decide({ reputationChanges: [] });
    assertIncludes(says("accountability", { ...spared, block }), `seat ${liar} stands in the transcript`);
    const slashed = decide({ reputationChanges: [{ seat: liar, steps: -1 }] });
    assert.equal(says("accountability", { ...slashed, block }), "");
  });

  it("SI6 termination: reports a missing certificate and a seat that fell silent; nothing beyond f", () => {
    const { seat } = honest(good);
    assertIncludes(
      says(
        "termination",
        bend(seat, () => ({ certificates: [] })),
      ),
      "no certificate",
    );
    assertIncludes(
      says(
        "termination",
        bend(seat, () => ({ silent: "internal error" })),
      ),
      "internal error",
    );
    assert.equal(says("termination", { ...bend(seat, () => ({ certificates: [] })), tolerable: false }), "");
  });

  it("SI6 termination: accepts Hung as a certificate, except in a world without any fault", () => {
    const hung = decide({ status: "hung" });
    assert.equal(says("termination", hung), "");
    const calm = { ...hung, seats: hung.seats.map((one) => ({ ...one, byzantine: null })) };
    assertIncludes(says("termination", calm), "holds hung, and nothing went wrong");
    assert.equal(says("termination", { ...calm, faults: ["skew"] }), "");
    assert.equal(says("termination", { ...calm, truthful: false }), "");
  });

  it("names the checkers that are off beyond f, in report and help", () => {
    const { seat } = honest(good);
    const missing = message(0, 9, 0, { nothing: null });
    const worst: readonly Trace[] = [
      decide({ answer: "maybe", reputationChanges: [{ seat, steps: -1 }] }),
      bend(seat, () => ({ certificates: [] })),
      {
        ...everywhere({ inTime: [missing], journalBytes: 1_000_000_000, answers: [], approved: [] }),
        block: () => null,
      },
      everywhere({ inTime: [missing], answers: [], approved: [] }),
    ];
    const said = (tolerable: boolean): ReadonlySet<string> =>
      new Set(worst.flatMap((one) => violationsIn({ ...one, tolerable }).map(({ checker }) => checker)));
    const beyond = said(false);
    assertSameMembers(
      [...said(true)].filter((checker) => !beyond.has(checker)),
      [...offBeyondF],
    );
    assertIncludesAll(beyond, ["agreement", "replay", "mbft", "bounded-memory"]);
  });

  it("SI7 bounded memory: reports too many instants, waiting frames, journal records and backlog messages", () => {
    assertIncludes(says("bounded-memory", { ...good, instants: 1_000_000 }), "instants");
    assertIncludes(says("bounded-memory", { ...good, pending: 1_000_000 }), "waited");
    assertIncludes(says("bounded-memory", everywhere({ journalBytes: 1_000_000_000 })), "journal");
    assertIncludes(says("bounded-memory", everywhere({ backlog: 10_000 })), "resend");
  });

  it("SI8 replay: reports a block that no seat holds, and a decision that the blocks do not yield", () => {
    assertIncludes(says("replay", { ...good, block: () => null }), "no honest seat holds its root block");
    assertIncludes(says("replay", decide({ confidence: 1 as never })), "confidence is");
  });

  it("SI9 nothing left out: reports a missing message that all honest seats held in time", () => {
    const missing = message(0, 9, 0, { nothing: null });
    assertIncludes(says("omission", everywhere({ inTime: [missing] })), "the transcript lacks it");
    assert.equal(
      says(
        "omission",
        bend(honest(good).seat, () => ({ inTime: [missing] })),
      ),
      "",
    );
  });

  it("SI10 mbft: reports pay without an answer, and too little support", () => {
    const paid = honest(good).certificates[0]!.certificate.decision.shares.findIndex((share) => share > 0);
    const reveal = good.messages.get(`2.0.${paid}`)![0]!;
    const nobody = everywhere({ answers: [], approved: [] });
    assertIncludes(says("mbft", nobody), "seats support");
    const other: Trace = { ...good, protocol: { ...good.protocol, id: "other" } };
    assert.equal(says("mbft", { ...nobody, protocol: other.protocol }), "");
    const mute: Trace = {
      ...good,
      block: (digest) => {
        const bytes = good.block(digest);
        return bytes !== null && Buffer.from(bytes).includes(Buffer.from(hexToBytes(reveal.signature))) ? null : bytes;
      },
    };
    assertIncludes(says("mbft", mute), "paid without an answer");
  });

  it("SI11 pay: reports other shares, pay without a blind answer, pay for a wrong or Hung one, and pay by another tier", () => {
    const { shares } = honest(good).certificates[0]!.certificate.decision;
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    const last = good.seats.findLast(({ byzantine }) => byzantine === null)!.seat;
    const paying = (change: (share: number, seat: number) => number) => decide({ shares: shares.map(change) });
    const none = bend(last, ({ certificates: [first] }) => ({
      certificates: [
        {
          ...first!,
          certificate: { ...first!.certificate, decision: { ...first!.certificate.decision, shares: [0, 0, 0, 0] } },
        },
      ],
    }));
    assertIncludes(says("pay", none), `seat ${last} holds other shares`);
    assertIncludes(
      says(
        "pay",
        paying((share, seat) => (seat === liar ? 1 : share)),
      ),
      `seat ${liar} is paid and answered`,
    );
    assertIncludes(
      says(
        "pay",
        paying((share) => share && share - 1),
      ),
      "for tier",
    );
    const absent = paying((share, seat) => (seat === last ? ABSENT : share));
    assertIncludes(says("pay", absent), `seat ${last} spoke, and its share is ${ABSENT}`);
    assertIncludes(says("pay", decide({ status: "hung" })), "for a Hung attempt");
    assertIncludes(says("pay", decide({ shares: [0, 0, 0, 0] })), "nobody is paid");
    const commit = good.messages.get(`1.0.${last}`)![0]!;
    assertIncludes(says("pay", without(good, commit)), `seat ${last} is paid and answered nothing blind`);
    const own = [...good.messages.values()].flat().filter(({ header }) => header.seat === last);
    assertIncludes(says("pay", without(good, ...own)), `seat ${last} said nothing, and its share is`);
    assertIncludes(says("pay", without(absent, ...own)), `seat ${last} is absent, and its reputation moves by 1`);
  });

  it("SI11 pay: reports scores where no more than a third were right, and none where more were", async () => {
    const options = {
      protocol: "wbft",
      n: 4,
      byzantine: 0,
      faults: [],
      kind: "boolean" as const,
      errorPpm: 0,
      sources: [],
    };
    const world = await runWorld(createPlan({ ...options, byzantineKinds: [] }, 4));
    const stating = (change: Partial<Certified["certificate"]["decision"]>): Trace => ({
      ...world,
      seats: world.seats.map((one) => ({
        ...one,
        certificates: one.certificates.map((held) => ({
          ...held,
          certificate: { ...held.certificate, decision: { ...held.certificate.decision, ...change } },
        })),
      })),
    });
    assert.equal(says("pay", world), "");
    assertIncludes(says("pay", stating({ shares: [1, 1, 1, 1] })), "seat 3 was right, and all earn alike");
    const { answer } = honest(world).certificates[0]!.certificate.decision;
    const other = stating({ answer: answer === "yes" ? "no" : "yes" });
    assertIncludes(says("pay", other), "and no more than a third were right");
  });

  it("SI11 pay: reports who hid its answer or was wrong when sure and stays, and who falls for neither", () => {
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    const { seat } = honest(good);
    const { reputationChanges } = honest(good).certificates[0]!.certificate.decision;
    const falls = reputationChanges.filter(({ steps }) => steps < 0);
    assert.deepEqual(falls, [{ seat: liar, steps: -1 }]);
    const spared = decide({ reputationChanges: [] });
    assertIncludes(says("pay", spared), `seat ${liar} was wrong when sure, and stays`);
    const reveal = good.messages.get(`2.0.${liar}`)![0]!;
    assertIncludes(
      says("pay", without(spared, reveal)),
      `seat ${liar} never showed what it bound itself to, and stays`,
    );
    assert.equal(says("pay", without(good, reveal)), "");
    // Under mbft a seat can be slashed for a counter-proof.
    const plain = (trace: Trace): Trace => ({ ...trace, protocol: { ...trace.protocol, id: "unanimous" } });
    const fallen = plain(decide({ reputationChanges: [...falls, { seat, steps: -1 }] }));
    assertIncludes(says("pay", fallen), `seat ${seat} falls, and was not wrong when sure`);
    const hung = plain(decide({ status: "hung", shares: [0, 0, 0, 0] }));
    assertIncludes(says("pay", hung), `seat ${liar} falls, and was not wrong when sure`);
  });

  it("SI12 lessons: reports a decision that teaches otherwise than its messages say", () => {
    const liar = good.seats.find(({ byzantine }) => byzantine !== null)!.seat;
    const { seat } = honest(good);
    const answered = good.attempt.committee.map((_, index) => index as SeatIndex);
    const agreed = answered.filter((one) => one !== liar);
    // Under mbft a seat can be slashed, and is taught nothing then.
    const taught = (change: Parameters<typeof decide>[0]): string =>
      says("lessons", {
        ...decide({ answered, agreed, ...change }),
        protocol: { ...good.protocol, id: "unanimous" },
      });
    // What the messages say is what the honest seats hold.
    assert.equal(taught({}), "");
    const others = good.seats.filter((one) => one.byzantine === null && one.seat !== seat);
    for (const one of others) assertIncludes(taught({ agreed: answered }), `seat ${one.seat} holds other lessons`);
    assertIncludes(taught({ answered: [], agreed: [] }), `seat ${liar} is not outvoted, and was`);
    assertIncludes(taught({ agreed: answered }), "the decision teaches about seats");
    assertIncludes(taught({ status: "hung" }), "the decision teaches about seats");
    const lacking = (list: readonly SeatIndex[]) => list.filter((one) => one !== seat);
    assertIncludes(taught({ agreed: lacking(agreed) }), `seat ${seat} is outvoted, and was not`);
    const fewer = { answered: lacking(answered), agreed: lacking(agreed) };
    assertIncludes(taught(fewer), `seat ${seat} is paid, and did not agree`);
  });

  it("SI4 no honest slash: every fall of an honest seat counts, unless a crash kept its answer from the others", () => {
    const { seat } = honest(good);
    const reveal = good.messages.get(`2.0.${seat}`)![0]!;
    const fallen = (steps: number) => decide({ reputationChanges: [{ seat, steps }] });
    const hidden = (faults: Trace["faults"], steps: number) => without({ ...fallen(steps), faults }, reveal);
    assert.equal(says("no-honest-slash", hidden(["crash"], -1)), "");
    const slashed = `slashes honest seat ${seat}`;
    assertIncludes(says("no-honest-slash", hidden([], -1)), slashed);
    assertIncludes(says("no-honest-slash", hidden(["model"], -1)), slashed);
    assertIncludes(says("no-honest-slash", hidden(["crash"], -2)), slashed);
    assertIncludes(says("no-honest-slash", { ...fallen(-1), faults: ["crash"] }), slashed);
  });
});
