import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gatherForm } from "../../agents/core/phases/readings.ts";
import { commitForm, revealForm } from "../../agents/core/phases/proposals.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Protocol } from "../../agents/core/protocol.ts";
import { faultTolerance } from "../../agents/core/quorum.ts";
import { canonicalOrder } from "../../agents/core/seat/order.ts";
import { dataNumber } from "../../agents/core/sources/data.ts";
import { grounded } from "../../agents/core/sources/named.ts";
import type { ReadingFailure } from "../../agents/core/sources/snapshot.ts";
import type { Attempt, Terms } from "../../agents/core/types.ts";
import { attemptOf, type SeatScript } from "../support/core/committee.ts";
import { byRank, decisionOf, watched } from "../support/core/council-scripts.ts";
import { rereading } from "../support/core/sources-scripts.ts";
import { assertAbove, assertBelow, assertFields } from "../support/assertions.ts";
import { processorMs } from "../support/processor-time.ts";

/** SG5: the protocols that read sources. */
const READERS = protocols.filter(({ readsSources }) => readsSources);
const PRICE = "https://api.example.org/price#/usd";
const call = (returns: string): string => `eip155:1:0x${"6b".repeat(20)}:total()(${returns})@23000000`;

function asking(
  protocol: Protocol,
  n: number,
  sources: readonly string[] = [PRICE],
  terms: Partial<Terms> = {},
): Attempt {
  const attempt = attemptOf(n, { kind: "number", decimals: 2, tolerance: 10n, protocol: protocol.code, ...terms });
  const question = ["How many dollars is one token?", ...sources.map((name) => `source: ${name}`)].join("\n");
  return { ...attempt, request: { ...attempt.request, question } };
}

/** A seat whose model must not be asked, and to which the API shows a value. */
const shown = (value: string): SeatScript => ({
  sees: () => value,
  answer: () => assert.fail("a model was asked for what code reads"),
});

const failing = (reason: ReadingFailure): SeatScript => ({ ...shown(""), failsAt: () => reason });

/** Runs a committee whose first seats in canonical order have other scripts than the rest. */
function run(protocol: Protocol, attempt: Attempt, usual: SeatScript, others: readonly SeatScript[] = []) {
  const scripts = byRank(attempt, usual, Object.fromEntries(others.map((one, rank) => [rank, one])));
  return watched(protocol, attempt, scripts, 1, new Map([PRICE, call("uint256")].map((source) => [source, "unread"])));
}

describe("data questions: over a committee", () => {
  for (const protocol of READERS)
    describe(protocol.id, () => {
      for (const n of [4, 7]) {
        const f = faultTolerance(n);

        it(`SG11: n = ${n}: decides the number that all read, and asks no model`, () => {
          const attempt = asking(protocol, n);
          const done = run(protocol, attempt, shown("3127.55"));
          assertFields(decisionOf(done), { status: "decided", answer: "3127.55" });
          assertAbove(decisionOf(done).confidence, 900_000);
          assert.equal(done.asked.length, 0);
        });

        it(`SG11: n = ${n}: decides the integer that a call returned, and asks no model`, () => {
          const done = run(protocol, asking(protocol, n, [call("uint256")]), shown("1000000000000000000000000000"));
          assertFields(decisionOf(done), { status: "decided", answer: "1000000000000000000000000000" });
          assert.equal(done.asked.length, 0);
        });

        it(`SG11: n = ${n}: f liars with a number far away change nothing`, () => {
          const attempt = asking(protocol, n);
          for (const lie of ["9", "-3127.55", "99999999"]) {
            const done = run(
              protocol,
              attempt,
              shown("3127.55"),
              Array.from({ length: f }, () => shown(lie)),
            );
            assertFields(decisionOf(done), { status: "decided", answer: "3127.55" });
            const last = canonicalOrder(attempt).at(-1) as number;
            const why = protocol.explain!(attempt, done.states[last]!.tally).join("\n");
            if (protocol.id !== "leaderless") assert.match(why, /quotes nothing that more than 1\/3 of the seats read/);
          }
        });

        it(`SG11, EQ0: n = ${n}: a number that moves within the tolerance decides, and liars at its edge move it no further`, () => {
          const attempt = asking(protocol, n);
          const order = canonicalOrder(attempt);
          // Honest seats read 10.00 to 10.05; the liars say 9.92, which agrees with some of them.
          const honest = order.slice(f).map((_, place) => shown(`10.0${place % 6}`));
          for (const edge of ["9.92", "10.12"]) {
            const others = [...Array.from({ length: f }, () => shown(edge)), ...honest];
            const decision = decisionOf(run(protocol, attempt, shown("10"), others));
            assert.equal(decision.status, "decided");
            const cents = Math.round(Number(decision.answer) * 100);
            const read = honest.map((_, place) => 1000 + (place % 6));
            assert.ok(
              read.some((one) => Math.abs(one - cents) <= 10),
              `${decision.answer} agrees with what no honest seat read`,
            );
          }
        });

        it(`SG8, EV-4: n = ${n}: an API that shows every seat another number is unanswerable`, () => {
          const attempt = asking(protocol, n);
          const others = attempt.committee.map((_, rank) => shown(String(100 * (rank + 1))));
          const done = run(protocol, attempt, shown("1"), others);
          assertFields(decisionOf(done), { status: "unanswerable", confidence: 1_000_000 });
        });
      }

      it("SG8, SG12: what is no number is no such value; failures end as those of pages", () => {
        const attempt = asking(protocol, 4);
        assertFields(decisionOf(run(protocol, attempt, shown("n/a"))), { status: "unanswerable" });
        assertFields(decisionOf(run(protocol, attempt, failing("not-found"))), { status: "unanswerable" });
        assertFields(decisionOf(run(protocol, attempt, failing("unreachable"))), { status: "hung" });
        const one = run(protocol, attempt, shown("7"), [shown("seven")]);
        assertFields(decisionOf(one), { status: "decided", answer: "7" });
      });

      it("SG9, SG12: a seat that alone reads another number earns nothing, and loses nothing", () => {
        const attempt = asking(protocol, 4);
        const [alone] = canonicalOrder(attempt);
        const decision = decisionOf(run(protocol, attempt, shown("50"), [shown("60")]));
        assertFields(decision, { status: "decided", answer: "50", reputationChanges: [] });
        assert.equal(decision.shares[alone as number], 0);
      });

      it("SG12: a seat that answers another number than it said it read does not count", () => {
        const attempt = asking(protocol, 4);
        const [liar] = canonicalOrder(attempt);
        const done = run(protocol, attempt, shown("50"), [
          {
            ...shown("50"),
            saysToItself: true,
            say: (effect) => [rereading(effect, { sources: [{ value: "49.95" }] })],
          },
        ]);
        assertFields(decisionOf(done), { status: "decided", answer: "50" });
        const shares = decisionOf(done).shares;
        assert.ok((shares[liar as number] ?? 0) <= 1 || shares[liar as number] === 255, "it is paid for no answer");
      });
    });

  it("SG12: numbers with a unit, under a question as long as may be, take a committee little time", async () => {
    const attempt = asking(mbft, 13);
    const { question } = attempt.request;
    const long = `${"ab ".repeat(2_700)}${question}`;
    const asked = { ...attempt, request: { ...attempt.request, question: long } };
    const tookMs = await processorMs(() => {
      assertFields(decisionOf(run(mbft, asked, shown("50 dollars"))), { status: "decided", answer: "50" });
    });
    assertBelow(tookMs, 4_000);
  });

  it("SG11: only a number at one source with a pointer, or of a call that returns one integer, is a data question", () => {
    const isDataQuestion = (sources: readonly string[], terms: Partial<Terms> = {}): boolean =>
      grounded(asking(mbft, 4, sources, terms)).request.isDataQuestion === true;
    assert.equal(isDataQuestion([PRICE]), true);
    assert.equal(isDataQuestion(["https://api.example.org/price"]), false);
    assert.equal(isDataQuestion([PRICE, "https://api.example.org/price#/eur"]), false);
    assert.equal(isDataQuestion([PRICE], { kind: "boolean", decimals: 0, tolerance: 0n }), false);
    assert.equal(isDataQuestion([]), false);
    for (const integer of ["uint256", "int256", "uint8"]) assert.equal(isDataQuestion([call(integer)]), true, integer);
    for (const other of ["bool", "string", "bytes32", "address"])
      assert.equal(isDataQuestion([call(other)]), false, other);
    assert.equal(isDataQuestion([call("uint256,uint256")]), false);
    assert.equal(isDataQuestion([call("uint256"), PRICE]), false);
    assert.equal(isDataQuestion([call("uint256")], { kind: "boolean", decimals: 0, tolerance: 0n }), false);
  });

  it("SG12: the message of what a seat read holds one number, and no passages", () => {
    const attempt = asking(mbft, 4);
    const decode = (sources: unknown) => gatherForm.decode(attempt, { sources } as never);
    assert.deepEqual(decode([{ value: "12.5" }]), { sources: [{ value: "12.5" }] });
    assert.deepEqual(decode([{ failed: "no-such-value" }]), { sources: [{ failed: "no-such-value" }] });
    for (const wrong of [[], [{ value: "x" }], [{ value: 12 }], [{ passages: [] }], [{ value: "1".repeat(129) }]])
      assert.equal(decode(wrong), null, JSON.stringify(wrong));
    const page = asking(mbft, 4, ["https://api.example.org/price"]);
    assert.equal(gatherForm.decode(page, { sources: [{ value: "12.5" }] }), null);
  });

  it("SG11: a seat proposes what it read, quotes it, and its words stand in the transcript", () => {
    const attempt = asking(mbft, 4);
    const done = run(mbft, attempt, shown("3127.5561"));
    assertFields(decisionOf(done), { status: "decided", answer: "3127.55" });
    const revealed = done.effects[0]!.find((effect) => effect.kind === "send" && effect.phase === revealForm.phase);
    assert.ok(revealed?.kind === "send");
    assertFields(revealed.payload["proposal"], {
      answer: "3127.55",
      citations: [{ source: 0, passage: "3127.5561", quotation: "3127.5561" }],
    });
    assert.ok(done.effects[0]!.some((effect) => effect.kind === "send" && effect.phase === commitForm.phase));
  });

  it("SG13: a moving number costs nobody a slash, though its seat agrees with no other", () => {
    for (const protocol of READERS) {
      const attempt = asking(protocol, 7);
      const decision = decisionOf(run(protocol, attempt, shown("10"), [shown("10.5"), shown("9.5")]));
      assertFields(decision, { status: "decided", answer: "10" });
      for (const { steps } of decision.reputationChanges) assertAbove(steps, -2);
    }
  });
});

describe("numbers in data", () => {
  const asked = (decimals: number, question = "How much?") => ({
    terms: attemptOf(4, { kind: "number", decimals }).request.terms,
    question,
  });
  const read = (text: string, decimals = 2): string | null => dataNumber(asked(decimals), text)?.text ?? null;

  it("SG12: reads the numbers of JSON exactly, and cuts off what the terms have no decimals for", () => {
    for (const [text, number] of [
      ["0", "0"],
      ["-0", "0"],
      ["-0.001", "0"],
      ["12", "12"],
      ["12.50", "12.5"],
      ["12.345", "12.34"],
      ["12.349999", "12.34"],
      ["-12.349", "-12.34"],
      ["1.5e3", "1500"],
      ["1.5E+3", "1500"],
      ["1234.5e-2", "12.34"],
      ["1e-9", "0"],
      ["-2.5e0", "-2.5"],
      ["9007199254740993", "9007199254740993"],
      ["0.1", "0.1"],
    ] as const)
      assert.equal(read(text), number, text);
    assert.equal(read("9007199254740993.000000000000000001", 18), "9007199254740993.000000000000000001");
  });

  it("SG12: reads numbers in strings as people write them, with a unit that the question names", () => {
    assert.equal(read("1,234.50"), "1234.5");
    assert.equal(dataNumber(asked(2, "How many dollars?"), "$3,127.559")?.text, "3127.55");
    assert.equal(read("$3,127.55"), null);
  });

  it("SG12: takes a comma with three digits behind it for no number, whatever the decimals: the rest of a fraction would be cut off", () => {
    for (const decimals of [0, 2, 18]) assert.equal(read("1,234", decimals), null, String(decimals));
    assert.equal(read("1,234,567", 0), "1234567");
    assert.equal(read("1 234", 0), "1234");
  });

  it("SG12: takes nothing that is no number, or too large", () => {
    for (const text of [
      "",
      "n/a",
      "null",
      "true",
      "NaN",
      "Infinity",
      "0x10",
      "1e",
      "1e9999",
      "1e400",
      "--1",
      "1.2.3",
      "[1]",
      '{"a":1}',
      "1".repeat(129),
      "1e38",
    ])
      assert.equal(read(text), null, text);
  });
});
