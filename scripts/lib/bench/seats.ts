import { hexToBytes, decisionDigest, messageDigest, sha256 } from "../../../agents/core/digest.ts";
import { digestOf } from "../../../agents/core/codec.ts";
import type { Effect, Input, SeatContext } from "../../../agents/core/protocol.ts";
import { mbft } from "../../../agents/core/protocols/mbft/index.ts";
import { isSeatDone, startSeat, stepSeat, type SeatState } from "../../../agents/core/seat.ts";
import { encodeMessage, refuseMessage } from "../../../agents/core/transcript.ts";
import type { Attempt, Digest, Message, Ppm, SeatIndex, Value } from "../../../agents/core/types.ts";
import { simSigner } from "../../../agents/sim/signer.ts";
import { attemptFor } from "../attacks/message-set.ts";
import { RIGHT, SEATS, WRONG, type Workload } from "./workloads.ts";

/** How far a decision is stepped: to the end of the deliberation at every seat, or to a certificate at every seat. */
export type Goal = "deliberated" | "certified";

export interface Stepped {
  readonly inputs: number;
  readonly messages: number;
  readonly modelCalls: number;
  /** Canonical answers that the seats certified; empty when only deliberated. */
  readonly answers: readonly string[];
}

type Send = Extract<Effect, { kind: "send" }>;
type Ask = Extract<Effect, { kind: "ask" }>;

const timing = { phaseMs: 60_000, graceMs: 1_000, certifyMs: 10_000, certifyDeltaMs: 1_000 };

export function benchAttempt(): Attempt {
  const attempt = attemptFor(mbft.code, SEATS, "normal");
  const committee = attempt.committee.map((info, seat) => ({ ...info, signer: simSigner(seat).address }));
  return { ...attempt, committee };
}

/**
 * Ten seats over a network without delay or loss; models answer at once, so no timer ever fires. With `verify` every receiver verifies
 * every signature, as a node does before it steps its core.
 */
export function stepDecision(workload: Workload, attempt: Attempt, goal: Goal, verify: boolean): Stepped {
  const contexts = attempt.committee.map((_, self): SeatContext => {
    return { attempt, self: self as SeatIndex, secret: new Uint8Array(32).fill(self), timing };
  });
  const queue: { readonly seat: number; readonly input: Input }[] = [];
  const sent: Message[] = [];
  const answers: string[] = [];
  let modelCalls = 0;
  const run = (seat: number, effect: Effect): void => {
    switch (effect.kind) {
      case "ask":
        modelCalls += 1;
        queue.push({
          seat,
          input: { kind: "observed", ask: effect.ask, observation: answerOf(workload, seat, effect) },
        });
        return;
      case "send": {
        const message = signed(attempt, seat, effect);
        sent.push(message);
        deliver(attempt.committee.keys(), message, seat);
        return;
      }
      case "forward":
        for (const message of effect.messages) deliver(attempt.committee.keys(), message, message.header.seat);
        return;
      case "load":
        queue.push({ seat, input: { kind: "loaded", root: effect.root, blocks: loaded(sent, effect.blocks) } });
        return;
      case "certified":
        answers.push(effect.certificate.decision.answer);
        return;
      default:
    }
  };
  const deliver = (seats: Iterable<number>, message: Message, from: number): void => {
    for (const seat of seats) {
      if (verify && seat !== from && refuseMessage(attempt, message) !== null) throw new Error("a signature is bad");
      queue.push({ seat, input: { kind: "message", message } });
    }
  };
  const states = contexts.map((context, seat): SeatState => {
    const started = startSeat(mbft, context);
    for (const effect of started.effects) run(seat, effect);
    return started.state;
  });
  let inputs = 0;
  for (let next = queue[inputs]; next !== undefined; next = queue[inputs]) {
    inputs += 1;
    const { seat, input } = next;
    const state = states[seat] as SeatState;
    if (isReached(state, goal)) continue;
    const stepped = stepSeat(mbft, contexts[seat] as SeatContext, state, input);
    states[seat] = stepped.state;
    for (const effect of stepped.effects) run(seat, effect);
  }
  if (!states.every((state) => isReached(state, goal))) throw new Error("the seats came to a stop before the goal");
  return { inputs, messages: sent.length, modelCalls, answers };
}

function isReached(state: SeatState, goal: Goal): boolean {
  return goal === "certified" ? isSeatDone(state) : state.certify.inTime !== null;
}

/** A liar rejects and upholds whatever is against its own answer, an honest seat likewise. */
function answerOf(workload: Workload, seat: number, { ask, prompt }: Ask) {
  const own = seat < workload.liars ? WRONG : RIGHT;
  const agrees = prompt.user.includes(`\nanswer: "${own}"`);
  const fields: Record<string, string> = ask.includes("propose")
    ? { proof: "computed", answer: own }
    : ask.includes("verify")
      ? { check: `it is ${own}`, verdict: agrees ? "accept" : "reject" }
      : { check: "computed", verdict: agrees ? "refute" : "uphold" };
  return { kind: "answered", fields, confidence: 900_000 as Ppm } as const;
}

function signed(attempt: Attempt, seat: number, { phase, round, payload, decision }: Send): Message {
  const signer = simSigner(seat);
  const said: Value =
    decision === undefined
      ? payload
      : { ...payload, signature: hexToBytes(signer.sign(decisionDigest(attempt, decision))) };
  const header = {
    requestId: attempt.request.id,
    attempt: attempt.attempt,
    protocol: attempt.request.terms.protocol,
    phase,
    round,
    seat: seat as SeatIndex,
    payloadDigest: digestOf(said),
  };
  return { header, payload: said, signature: signer.sign(messageDigest(attempt.domain, header)) };
}

function loaded(sent: readonly Message[], digests: readonly Digest[]): readonly (Uint8Array | null)[] {
  const blocks = new Map(sent.map((message) => encodeMessage(message)).map((bytes) => [sha256(bytes), bytes]));
  return digests.map((digest) => blocks.get(digest) ?? null);
}
