import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { encodeAbiParameters, encodeEventTopics, keccak256, toHex, type Hex } from "viem";
import { agentRegistryAbi, decisionOracleAbi } from "@conclave/contracts/abi";
import { decodeLog, type MinedLog } from "../../agents/adapters/chain/decode.ts";
import { packHead, packRelay } from "../../agents/adapters/chain/settlement.ts";
import { packSeat, packTerms } from "../../agents/core/encoding/words.ts";
import { packRound } from "../support/memory-chain/rounds.ts";
import { limits } from "../../agents/core/limits.ts";
import type { Address, AgentId, Ppm, SeatIndex } from "../../agents/core/types.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";

const oracle = `0x${"0a".repeat(20)}` as Address;
const registry = `0x${"0b".repeat(20)}` as Address;
const consumer = `0x${"0c".repeat(20)}` as Address;
const terms = defaultTerms({
  fee: 1n,
  assurance: "high",
  currency: "native",
  options: 3,
  kind: "choice",
  protocol: 1,
});
const seat = { agentId: 7 as AgentId, reputation: 1_000_000 as Ppm, skill: 1 as const, signer: consumer };

const roundWord = packRound({ link: 3n, appeals: 1, deadline: 1_900_000_000 });

type Value = bigint | number | Hex | readonly bigint[];

function logOf(topics: readonly Hex[], data: Hex, address: Address = oracle): MinedLog {
  const hash = keccak256("0x01");
  const place = { blockNumber: 5n, blockHash: hash, logIndex: 2, transactionHash: hash, transactionIndex: 0 };
  return { address, topics: [...topics] as [Hex, ...Hex[]], data, removed: false, ...place };
}

function requested(word: bigint, question: Hex): MinedLog {
  const topics = encodeEventTopics({
    abi: decisionOracleAbi,
    eventName: "Requested",
    args: { requestId: 9n, consumer },
  });
  return logOf(
    topics as Hex[],
    encodeAbiParameters(
      [{ type: "uint256" }, { type: "uint256" }, { type: "uint64" }, { type: "bytes" }],
      [word, roundWord, 12n, question],
    ),
  );
}

const lessons = { answered: [0, 1, 3] as SeatIndex[], agreed: [0, 3] as SeatIndex[] };
const head = packHead({ status: "decided", attempt: 2, seats: 4, round: 1, confidence: 900_000 as Ppm, ...lessons });

function committed(change: Readonly<Record<string, Value>> = {}): MinedLog {
  const types = ["uint256", "bytes32", "bytes32", "uint256", "uint256[]", "bytes", "bytes"];
  const values = {
    head,
    outcome: keccak256("0x03"),
    transcript: keccak256("0x04"),
    relay: packRelay({ signers: 7n, gasPrice: 3_000_000n, relayer: consumer }),
    committee: [packSeat(seat)],
    answer: toHex("B"),
    merits: "0x0102030400010380",
    ...change,
  };
  const topics = encodeEventTopics({ abi: decisionOracleAbi, eventName: "DecisionCommitted", args: { requestId: 9n } });
  return logOf(
    topics as Hex[],
    encodeAbiParameters(
      types.map((type) => ({ type })),
      Object.values(values),
    ),
  );
}

describe("chain: events", () => {
  it("decodes a question byte for byte, a byte order mark included", () => {
    const question = "\uFEFFWelche? 数 ✓";
    const decoded = decodeLog(requested(packTerms(terms), toHex(question)), oracle, registry);
    assert.ok(decoded.kind === "event" && decoded.event.kind === "requested");
    assert.deepEqual(decoded.event.request, { id: 9n, consumer, terms, question });
    assert.equal(decoded.event.round, roundWord);
    assert.deepEqual([decoded.event.seedBlock, decoded.event.blockNumber, decoded.event.logIndex], [12n, 5n, 2]);
  });

  it("decodes a committee and a decision", () => {
    const decision = decodeLog(committed(), oracle, registry);
    assert.ok(decision.kind === "event" && decision.event.kind === "decisionCommitted");
    assert.deepEqual(decision.event.committee, [seat]);
    assert.deepEqual(decision.event.decision.shares, [1, 2, 3, 4]);
    assert.deepEqual(decision.event.decision.reputationChanges, [
      { seat: 0, steps: 1 },
      { seat: 3, steps: -128 },
    ]);
    const { status, attempt, round, confidence, answered, agreed } = decision.event.decision;
    assert.deepEqual({ answered, agreed }, lessons);
    assert.deepEqual([status, attempt, round, confidence], ["decided", 2, 1, 900_000]);
    assert.deepEqual(decision.event.relay, { signers: 7n, gasPrice: 3_000_000n, relayer: consumer });
  });

  it("reports changes of agents, and ignores payments", () => {
    const topics = encodeEventTopics({ abi: agentRegistryAbi, eventName: "AgentActivated", args: { agentId: 3 } });
    const changed = decodeLog(logOf(topics as Hex[], "0x", registry), oracle, registry);
    assert.ok(changed.kind === "event" && changed.event.kind === "agentsChanged");
    assert.equal(changed.event.agentId, 3);
    // Nearly every decision has one. Whoever read the registry again for each would read it in every block.
    const fell = encodeEventTopics({ abi: agentRegistryAbi, eventName: "ReputationChanged", args: { agentId: 3 } });
    const data = encodeAbiParameters([{ type: "int8" }, { type: "uint32" }], [-1, 800_000]);
    assert.equal(decodeLog(logOf(fell as Hex[], data, registry), oracle, registry).kind, "irrelevant");
    const pending = encodeEventTopics({ abi: decisionOracleAbi, eventName: "CallbackFailed", args: { requestId: 9n } });
    assert.equal(decodeLog(logOf(pending as Hex[], "0x"), oracle, registry).kind, "irrelevant");
  });

  const kindShift = 8n;
  const hostile: readonly (readonly [name: string, log: MinedLog, reason: RegExp])[] = [
    [
      "a question beyond the limit",
      requested(packTerms(terms), `0x${"61".repeat(limits.questionBytes + 1)}`),
      /more than/,
    ],
    [
      "an unknown answer kind",
      requested(packTerms(terms) | (200n << kindShift), toHex("?")),
      /unknown value of kind or assurance or nonAnswers or security or currency/,
    ],
    ["too many seats", committed({ committee: Array.from({ length: 65 }, () => packSeat(seat)) }), /65 seats/],
    ["a seat without a signer", committed({ committee: [1n << 192n] }), /seat is malformed/],
    ["a status that decides nothing", committed({ head: head ^ (3n << 208n) }), /status 1/],
    ["a head with something above it", committed({ head: head | (1n << 220n) }), /status 4098 is that of no decision/],
    ["an answer that is not UTF-8", committed({ answer: "0xff" }), /answer is not UTF-8/],
    ["reputation changes out of order", committed({ merits: "0x0102030403ff00ff" }), /reputation changes/],
    ["fewer shares than seats", committed({ merits: "0x010203" }), /shares/],
    ["an impossible confidence", committed({ head: head + (100_001n << 128n) }), /confidence/],
    ["data that is cut off", logOf(requested(1n, "0x61").topics as Hex[], "0x1234"), /./],
    ["an event of nobody's", logOf([keccak256("0x05")], "0x"), /./],
    ["no topics at all", { ...logOf([], "0x"), topics: [] }, /./],
    ["a log of another contract", { ...committed(), address: consumer }, /not asked for/],
  ];
  for (const [name, log, reason] of hostile) {
    it(`skips ${name}`, () => {
      const decoded = decodeLog(log, oracle, registry);
      assert.ok(decoded.kind === "skipped", decoded.kind);
      assert.match(decoded.reason, reason);
    });
  }
});
