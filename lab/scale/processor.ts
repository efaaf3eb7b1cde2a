// Measures the processor time of one seat in a process of its own, with the fastest curve of this machine:
//   node processor.ts <n> <decisions>
import { encodeAsk, encodeCommit } from "../../agents/adapters/chain/encode.ts";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { quorumOf } from "../../agents/core/quorum.ts";
import type { Attempt, Certificate, Ppm, Round } from "../../agents/core/types.ts";
import { signedBy, stepDecision, type StepOptions } from "../../sim/step-decision.ts";
import { attemptFor } from "../../test/support/message-set.ts";
import { cpuMs } from "../bench/core/measure.ts";
import type { ProcessorFigures } from "./inputs.ts";

/** Bytes of a block's header on mainnet in RLP, and of a question. */
const HEADER_BYTES = 640;
const QUESTION_BYTES = 200;

const [size, count] = process.argv.slice(2).map(Number) as [number, number];

/** Stepping one decision does the work of all seats; models answer at once, and everybody agrees. */
function optionsFor(seats: number): StepOptions {
  const minds = Array.from({ length: seats }, () => ({
    answer: "yes",
    approves: (answer: string) => answer === "yes",
    confidence: 900_000 as Ppm,
  }));
  const attempt = signedBy(attemptFor(mbft.code, seats, "normal"));
  return { protocol: mbft, attempt, minds, goal: "certified", verify: true };
}

// So that loading and compiling is not counted.
for (let round = 0; round < 10; round++) stepDecision(optionsFor(7));
const options = optionsFor(size);
const started = cpuMs();
let stepped = stepDecision(options);
for (let round = 1; round < count; round++) stepped = stepDecision(options);
const cpu = (cpuMs() - started) / count / size;
const certificate = stepped.certified[0]?.certificate;
if (certificate === undefined) throw new Error("nobody certified");
const figures: ProcessorFigures = {
  n: size,
  cpuMs: Number(cpu.toPrecision(3)),
  messages: stepped.messages.length,
  commitBytes: commitBytesOf(options.attempt, certificate),
  requestBytes: bytesOf(encodeAsk(1, options.attempt.request.terms, "x".repeat(QUESTION_BYTES))),
};
process.stdout.write(JSON.stringify(figures));

/** A commit carries as many signatures as are needed. */
function commitBytesOf({ request, committee }: Attempt, { decision, signatures }: Certificate): number {
  const needed = { decision, signatures: signatures.slice(0, quorumOf(committee.length)) };
  const awaited = { round: 0n as Round, attempt: 0, seedBlock: 25_000_000n, past: [] };
  return bytesOf(encodeCommit(request, awaited, `0x${"f9".repeat(HEADER_BYTES)}`, needed));
}

function bytesOf(hex: string): number {
  return (hex.length - 2) / 2;
}
