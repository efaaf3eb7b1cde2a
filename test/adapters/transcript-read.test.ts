import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { printable } from "../../agents/cli/shared/output.ts";
import { transcriptDot, transcriptSvg } from "../../agents/cli/transcript/graph.ts";
import { transcriptHtml } from "../../agents/cli/transcript/html.ts";
import { numbers } from "../../agents/cli/transcript/lines.ts";
import { transcriptText } from "../../agents/cli/transcript/text.ts";
import { hexToBytes, sha256 } from "../../agents/core/encoding/bytes.ts";
import { packRound } from "../support/memory-chain/rounds.ts";
import { ConclaveError } from "../../agents/core/errors.ts";
import type { PayloadMap, Protocol } from "../../agents/core/protocol.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import { adversarial } from "../../agents/core/protocols/adversarial/index.ts";
import { clo } from "../../agents/core/protocols/clo/index.ts";
import { debate } from "../../agents/core/protocols/debate/index.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import type { Attempt, Digest, Ppm } from "../../agents/core/types.ts";
import { argumentOf } from "../../agents/node/audit/argument.ts";
import { readDeliberation, type Deliberation } from "../../agents/node/audit/deliberation.ts";
import type { ChainEvent } from "../../agents/core/request/events.ts";
import { canonicalAnswer } from "../../agents/core/request/answer.ts";
import { attemptFor } from "../support/message-set.ts";
import { signedBy, stepDecision } from "../../sim/step-decision.ts";

const HOSTILE = `</pre><script>alert("1")</script> \\N 'x' & "];`;
/** Characters that steer a terminal, turn the direction of text, or hide. */
const STEERING = "\u001b[2J\u202eevil\u2066\u200b\u{e0041}\u2028";

interface Made {
  readonly attempt: Attempt;
  readonly events: readonly ChainEvent[];
  readonly blocks: Map<Digest, Uint8Array>;
}

/** Decision of four seats, the first ones of which lie. */
function decide(protocol: Protocol, words: string, question: string, liars: number): Made {
  const plain = signedBy(attemptFor(protocol.code, 4, "normal"));
  const attempt = { ...plain, request: { ...plain.request, question } };
  const minds = attempt.committee.map((_, seat) => {
    const answer = seat < liars ? "no" : "yes";
    return { answer, words, approves: (other: string) => other === answer, confidence: 900_000 as Ppm };
  });
  const [first] = stepDecision({ protocol, attempt, minds, goal: "certified", verify: false }).certified;
  assert.ok(first !== undefined);
  const { decision, signatures } = first.certificate;
  const hash = `0x${"00".repeat(32)}` as const;
  const position = { blockNumber: 1n, blockHash: hash, logIndex: 0, transactionHash: hash };
  const requestId = attempt.request.id;
  const round = packRound({ link: 0n, appeals: 0, deadline: 1_900_000_000 });
  const signers = signatures.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n);
  const relay = { signers, gasPrice: 0n, relayer: attempt.request.consumer };
  return {
    attempt,
    events: [
      { ...position, kind: "requested", request: attempt.request, round, seedBlock: 3n },
      { ...position, kind: "decisionCommitted", requestId, committee: attempt.committee, decision, relay },
    ],
    blocks: new Map(first.blocks.map((bytes) => [sha256(bytes), bytes])),
  };
}

async function read({ attempt, events, blocks }: Made): Promise<Deliberation> {
  const { deliberation } = await readDeliberation({
    chain: { domain: attempt.domain, requestEvents: async () => events, certificate: async () => null },
    store: {
      get: async (digest) => {
        const bytes = blocks.get(digest);
        if (bytes === undefined) throw new ConclaveError("BLOCK_MISSING", "Find it: it is not there");
        return bytes;
      },
    },
    requestId: attempt.request.id,
    signal: new AbortController().signal,
  });
  assert.ok(deliberation !== null);
  return deliberation;
}

describe("TR8: a deliberation for reading", () => {
  for (const protocol of protocols) {
    it(`${protocol.id}: its own decoders read every message, and every message but the first ones builds on others`, async () => {
      const made = decide(protocol, "", "Is 2 less than 3?", 1);
      const deliberation = await read(made);
      assert.deepEqual([deliberation.report.failure, deliberation.messages.length], [undefined, made.blocks.size - 1]);
      for (const { rendering, header } of deliberation.messages) {
        assert.ok(rendering !== null && rendering.name !== "");
        assert.ok(!("seen" in rendering.body), `${rendering.name} of round ${header.round}`);
      }
      const edges = deliberation.messages.flatMap(({ parents }, index) => parents.map((parent) => [index, parent]));
      assert.ok(edges.length > 0);
      assert.ok(edges.every(([from, to]) => from !== to));
      const text = transcriptText(deliberation, [], true);
      assert.match(text, /\naudit +PROVEN/);
      assert.match(text, /\nended +decided: "yes"/);
      assert.match(text, /answer: "no"|derived no instead/);
      for (const index of deliberation.messages.keys()) assert.ok(text.includes(`\n[${index + 1}] seat `));
    });
  }

  it("shows first in what two messages for one slot differ", async () => {
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 1));
    const at = deliberation.messages.findIndex(({ parents }) => parents.length > 1);
    const spoken = deliberation.messages[at]!;
    const header = { ...spoken.header, payloadDigest: sha256(new Uint8Array([1])) };
    const twin = { ...spoken, header, parents: spoken.parents.slice(1) };
    const twice = { ...deliberation, messages: [...deliberation.messages, twin] };
    const held = "says that it held: [^\\n]+";
    assert.match(
      transcriptText(twice, []),
      new RegExp(`\\n${held} ${held}\\nthe same in all: +the same in all: *\\nproposal: +proposal:`),
    );
    const side = new RegExp(`<p class="bad">differs</p><pre>${held}</pre><p>the same in all</p><pre>proposal:`, "g");
    assert.equal(transcriptHtml(twice, []).match(side)?.length, 2);
  });

  it("names the messages that a vote refers to", async () => {
    // Three of four seats would be counted, and nobody would vote (MB20).
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 2));
    const text = transcriptText(deliberation, [], true);
    assert.match(text, /\[5\] seat 0, reveal of round 0, held 1-4\n {4}proposal:\n(?: {6}.+\n)* {6}answer: "no"/);
    assert.match(text, /target: \[8\] seat 3, reveal of round 0\n(?: {8}.+\n)* {8}verdict: "reject"/);
    assert.match(text, /counterProof: "derived yes instead/);
  });

  it("clo: says which answer another sample gave, and shows its digest if no seat gave that", async () => {
    const deliberation = await read(decide(clo, "", "Is 2 less than 3?", 1));
    const no = canonicalAnswer(deliberation.attempt.request, "no")?.outcome;
    assert.ok(no !== undefined);
    const messages = deliberation.messages.map((spoken) => {
      const proposal = spoken.rendering?.body["proposal"] ?? null;
      if (spoken.header.seat !== 3 || proposal === null || spoken.rendering === null) return spoken;
      const others = [hexToBytes(no), new Uint8Array(32).fill(0xab)];
      const body = { proposal: { ...(proposal as PayloadMap), tier: 0, others } };
      return { ...spoken, rendering: { ...spoken.rendering, body } };
    });
    const text = transcriptText({ ...deliberation, messages }, [], true);
    assert.match(text, /others:\n {8}1: the answer "no"\n {8}2: 0xabababababababab\.\.\. \(32 bytes\)\n/);
  });

  it("marks two messages that a seat signed for one slot", async () => {
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 1));
    assert.doesNotMatch(transcriptText(deliberation, []), /equivocation/i);
    const [first] = deliberation.messages;
    assert.ok(first !== undefined);
    const header = { ...first.header, payloadDigest: sha256(new Uint8Array([1])) };
    // Messages conflict only if they have the same seat, round and phase.
    const messages = [...deliberation.messages, { ...first, header }];
    const last = messages.length;
    const twice = { ...deliberation, messages };
    const text = transcriptText(twice, [], true);
    const title = new RegExp(
      `EQUIVOCATION: seat 0 signed 2 different messages as its commit of round 0: 1, ${last}\\n`,
    );
    assert.match(stripVTControlCharacters(text), title);
    assert.match(
      text,
      new RegExp(`\\n\\[1\\] seat 0, commit of round 0 +\\[${last}\\] seat 0, commit of round 0\\ncommitment: `),
    );
    assert.match(text, new RegExp(`\\[1\\] seat 0, .+\\n {4}EQUIVOCATION: its seat signed ${last}, too`));
    assert.equal(text.match(/EQUIVOCATION/g)?.length, 3);
    assert.match(transcriptHtml(twice, ["It cost 7."]), /<h2 class="bad">Equivocation<\/h2>[^]*It cost 7\./);
    assert.match(transcriptText(twice, ["It cost 7."]), /\nTwo signatures of one seat [^\n]+\nIt cost 7\.\n/);
    assert.deepEqual(argumentOf(twice).equivocations, [[0, last - 1]]);
    const svg = transcriptSvg(twice);
    const titles = [...svg.matchAll(/<g class="twice"><title>(.+?)<\/title>/g)].map(([, found]) => found);
    assert.deepEqual(titles, [
      `[1] seat 0, commit of round 0; its seat signed ${last}, too`,
      `[${last}] seat 0, commit of round 0; its seat signed 1, too`,
    ]);
    const places = [...svg.matchAll(/<circle cx="([\d.]+)" cy="(\d+)"/g)].map(([, x, y]) => ({ x: Number(x), y }));
    const [one, other] = [places[0], places[last - 1]];
    assert.equal(one?.y, other?.y);
    assert.ok(Number(other?.x) - Number(one?.x) >= 30, "circles with a radius of 15 lie beside each other");
  });

  it("tells the argument before the record", async () => {
    const made = decide(mbft, "", "Is 2 less than 3?", 2);
    const deliberation = await read(made);
    const text = transcriptText(deliberation, []);
    assert.match(text, /^question +"Is 2 less than 3\?"\n/);
    assert.match(text, /\n0 +#1 +"no" +90\.00 % +derived/);
    assert.match(
      text,
      /\nseat 2 rejects "no" of seat 1: "derived yes instead" \(is right, judges seat 3; is wrong, judges seats 0, 1\)\n/,
    );
    assert.doesNotMatch(text, /\[\d+\] seat|bafy/);
    for (const shown of ["\n[1] seat 0", deliberation.report.root ?? ""])
      assert.ok(transcriptText(deliberation, [], true).includes(shown));
    const html = transcriptHtml(deliberation, []);
    assert.ok(html.indexOf("rejects") < html.indexOf("<details>"));
    assert.ok(html.indexOf("<details>") < html.indexOf(deliberation.report.root ?? ""));
  });

  for (const [protocol, verdict] of [
    [debate, "critique"],
    [adversarial, "reject"],
  ] as const)
    it(`${protocol.id}: its objections name the answer that they are about`, async () => {
      const { answers, remarks } = argumentOf(await read(decide(protocol, "", "Is 2 less than 3?", 1)));
      const against = remarks.filter((remark) => remark.verdict === verdict);
      assert.ok(against.length > 0);
      for (const { about, seat, text } of against) {
        assert.ok(about !== null && answers.includes(about) && about.seat !== seat);
        assert.notEqual(text, "");
      }
    });

  it("says why a seat has no answer, and who changed it", async () => {
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 1));
    const messages = deliberation.messages.map((spoken, index) => {
      if (spoken.rendering?.name !== "reveal" || spoken.header.seat > 1) return spoken;
      const body = { proposal: null, why: "the model gave no answer in time" };
      if (spoken.header.seat === 0) return { ...spoken, rendering: { ...spoken.rendering, body } };
      const proposal = { ...(spoken.rendering.body["proposal"] as PayloadMap), answer: index % 2 === 0 ? "no" : "yes" };
      return { ...spoken, rendering: { ...spoken.rendering, body: { proposal } } };
    });
    const reveal = messages.find(({ rendering, header }) => rendering?.name === "reveal" && header.seat === 1);
    assert.ok(reveal !== undefined && reveal.rendering !== null);
    const later = {
      ...reveal,
      header: { ...reveal.header, round: 1 },
      rendering: {
        ...reveal.rendering,
        body: { proposal: { ...(reveal.rendering.body["proposal"] as PayloadMap), answer: "maybe" } },
      },
    };
    const text = transcriptText({ ...deliberation, messages: [...messages, later] }, []);
    assert.match(text, /\n0 +#1 +nothing +the model gave no answer in time\n/);
    assert.match(text, /\nseat 1 came from "(yes|no)" to "maybe" in round 1\n/);
    // Under clo no model is shown another's answer, so that it convinced nobody.
    const blind = transcriptText({ ...deliberation, protocol: clo, messages: [...messages, later] }, []);
    assert.match(blind, /\n1 +#2 +"(yes|no)", then "maybe"/);
    assert.doesNotMatch(blind, / came from /);
  });

  it("escapes texts of models and askers for a terminal, HTML, DOT and SVG", async () => {
    const deliberation = await read(decide(mbft, HOSTILE, `Is it? ${HOSTILE}${STEERING}`, 1));
    const all = (one: Deliberation): string => transcriptText(one, [], true);
    const outputs = [all, transcriptHtml, transcriptDot, transcriptSvg].map((form) => form(deliberation, []));
    const [text = "", html = "", dot = "", svg = ""] = outputs;
    for (const output of outputs) assert.doesNotMatch(output, /[^\P{C}\n]|[\u2028\u2029]/u);
    assert.ok(text.includes(HOSTILE) && text.includes("\\u001b[2J\\u202eevil\\u2066\\u200b\\u{e0041}\\u2028"));
    assert.doesNotMatch(html, /<script|<\/pre><s/i);
    assert.ok(html.includes("&lt;/pre&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;"));
    assert.match(html, /default-src 'none'/);
    // Every line of the DOT text is one that we write.
    for (const line of dot.split("\n").slice(3, -1))
      assert.match(line, /^ {2}m\d+ (\[label="\[\d+\] seat \d+\\n[a-z ]+ \d+"\]|-> m\d+);$/);
    assert.doesNotMatch(svg, /script/);
    assert.match(svg, /prefers-color-scheme:dark/);
  });

  it("shows an unprovable transcript up to the failure, and says so", async () => {
    const made = decide(mbft, "", "Is 2 less than 3?", 0);
    const [, , , third = "0x"] = made.blocks.keys();
    made.blocks.delete(third as Digest);
    const deliberation = await read(made);
    assert.equal(deliberation.messages.length, 2);
    assert.match(transcriptText(deliberation, []), /\naudit +UNAVAILABLE at messages, block bafy\w+: missing block/);
  });

  it("refuses to draw a picture of too many messages", async () => {
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 0));
    const messages = Array.from({ length: 601 }, () => deliberation.messages[0]!);
    assert.throws(() => transcriptSvg({ ...deliberation, messages }), { code: "USAGE" });
    assert.equal(transcriptDot({ ...deliberation, messages }).split("\n").length, 601 + 4);
  });

  it("draws the same graph in DOT and in the picture", async () => {
    const deliberation = await read(decide(mbft, "", "Is 2 less than 3?", 1));
    const edges = deliberation.messages.reduce((sum, { parents }) => sum + parents.length, 0);
    assert.equal(transcriptDot(deliberation).match(/ -> /g)?.length, edges);
    assert.equal(transcriptSvg(deliberation).match(/class="held"/g)?.length, edges);
    assert.equal(transcriptSvg(deliberation).match(/<circle/g)?.length, deliberation.messages.length);
  });
});

describe("printable", () => {
  it("escapes characters that steer a terminal, hide or turn text", () => {
    assert.equal(printable(STEERING), "\\u001b[2J\\u202eevil\\u2066\\u200b\\u{e0041}\\u2028");
    assert.equal(printable("größer ≥ 3 日本 🙂"), "größer ≥ 3 日本 🙂");
  });

  it("joins numbers to ranges", () => {
    assert.equal(numbers([3, 0, 1, 2, 6]), "1-4, 7");
  });
});
