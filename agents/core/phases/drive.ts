import type { Assessor } from "./assess.ts";
import { withOrigins } from "./origin.ts";
import { Patience, type Waiting } from "./patience.ts";
import { commitForm, revealForm } from "./proposals.ts";
import type { Answered, PhasedRules, SeatView } from "./phased-rules.ts";
import { comparePositions, type Effect, type Input, type Observation, type Position } from "../protocol.ts";
import type { SeatContext, Step } from "../protocol.ts";
import { readIn } from "../sources/reading.ts";
import { heldOf, withSeen, type AnyForm, type RoundBook, type Seen } from "./round-book.ts";
import { roundSlots, type Tally } from "../seat/tally.ts";
import type { Message, SeatIndex } from "../types.ts";

interface Pending {
  readonly ask: string;
  readonly about: readonly string[];
}

/** Where one seat is in the deliberation. */
export interface PhasedState extends Waiting {
  /** True once this seat's message of the phase is out, or if it has none to say. */
  readonly said: boolean;
  /** Model calls of the phase still out. */
  readonly pending: readonly Pending[];
  /** SG5: what this seat read; null before it did. */
  readonly read: SeatView<unknown>["read"];
  /** The own model's answers, by phase of this round. */
  readonly answered: ReadonlyMap<number, readonly Answered[]>;
  /** Why calls of the own model failed, by phase of this round. */
  readonly failed: ReadonlyMap<number, readonly string[]>;
  /** What this seat held of each phase since the last full one when that phase closed (PH3). */
  readonly seen: readonly Seen[];
  readonly closed: Position | null;
  /** PH10: the first round whose messages are not yet handed on. */
  readonly handedOn: number;
}

/** Prefix of the timer after which a round's messages are handed on. */
const HAND_ON = "hand-on.";

const opening: Omit<PhasedState, "handedOn" | "read"> = {
  round: 0,
  index: 0,
  said: false,
  running: [],
  pending: [],
  answered: new Map(),
  failed: new Map(),
  seen: [],
  closed: null,
};

/**
 * Moves one seat through the phases of a protocol: decides when a phase closes, what the seat asks its model and what
 * it says. Local: none of this takes part in a conclusion.
 */
export class Drive<Carry> {
  private readonly rules: PhasedRules<Carry>;
  private readonly assessor: Assessor<Carry>;
  private readonly patience: Patience;

  constructor(rules: PhasedRules<Carry>, assessor: Assessor<Carry>) {
    this.rules = rules;
    this.assessor = assessor;
    this.patience = new Patience(assessor);
  }

  start(context: SeatContext): Step<PhasedState> {
    return this.openRound({ closed: null, handedOn: 0, read: null }, context, { rounds: new Map() }, 0);
  }

  step(state: PhasedState, context: SeatContext, tally: Tally, input: Input): Step<PhasedState> {
    switch (input.kind) {
      case "observed":
        return this.observe(state, context, tally, input.ask, input.observation);
      case "elapsed":
        if (input.timer.startsWith(HAND_ON))
          return this.handOn(state, context, tally, Number(input.timer.slice(HAND_ON.length)));
        return this.patience.isCurrent(state, context, input.timer)
          ? this.closePhase(state, context, tally)
          : { state, effects: [] };
      case "message":
        return this.hear(state, context, tally, input.message);
      case "read":
        return this.receive(state, context, tally, input.blocks);
      case "loaded":
        return { state, effects: [] };
    }
  }

  private formAt(context: SeatContext, state: PhasedState): AnyForm {
    return this.assessor.plan(context.attempt, state.round).forms[state.index] as AnyForm;
  }

  private speakersOf(context: SeatContext, state: PhasedState): readonly SeatIndex[] | null {
    return this.assessor.speakers(context.attempt, state.round, this.formAt(context, state).phase);
  }

  private view(state: PhasedState, context: SeatContext, tally: Tally): SeatView<Carry> {
    const { attempt, self, secret } = context;
    const { round } = state;
    const book = (of: number): RoundBook => this.assessor.book(attempt, tally, of);
    return {
      attempt,
      self,
      secret,
      round,
      book: book(round),
      earlier: Array.from({ length: round }, (_, of) => book(of)),
      carry: this.assessor.carryInto(attempt, tally, round),
      answered: (phase) => state.answered.get(phase) ?? [],
      failed: (phase) => state.failed.get(phase) ?? [],
      read: state.read,
    };
  }

  /**
   * PH5: a phase closes when all its speakers have spoken, a grace after more than 2/3 of them have, or at its time-out; at a seat that
   * still waits for its model also when others end the round, where it would else be absent.
   */
  private advance(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { phase } = this.formAt(context, state);
    if (state.closed !== null && comparePositions(state.closed, { round: state.round, phase }) >= 0)
      return this.nextRound(state, context, tally);
    const isLeft = state.pending.length > 0 && this.patience.othersEnd(state, context.attempt, tally);
    if (isLeft) return this.closePhase(state, context, tally);
    const heard = this.patience.heard(state, context, tally);
    if (!state.said || heard === "few") return { state, effects: [] };
    if (heard === "all") return this.closePhase(state, context, tally);
    const { running, effects } = this.patience.graces(state, context, tally);
    return { state: { ...state, running }, effects };
  }

  /**
   * Enters the phase after the one that closes. A seat that has not spoken by then says what answers have arrived;
   * without any it says an abstention.
   */
  private closePhase(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const form = this.formAt(context, state);
    const late = state.said ? [] : [this.sayPhase(state, context, tally)];
    const closed = { round: state.round, phase: form.phase };
    const { forms, partial } = this.assessor.plan(context.attempt, state.round);
    const held = heldOf(this.assessor.book(context.attempt, tally, state.round), form);
    const next: PhasedState = {
      ...state,
      said: false,
      running: [],
      pending: [],
      seen: partial.has(form.phase) ? [...state.seen, held] : [held],
      closed,
    };
    if (state.index + 1 < forms.length) {
      const entered = this.enter({ ...next, index: state.index + 1 }, context, tally);
      return { state: entered.state, effects: [...late, ...entered.effects] };
    }
    const handOn: Effect = {
      kind: "wait",
      timer: `${HAND_ON}${state.round}`,
      afterMs: Math.floor(context.timing.phaseMs / 2),
    };
    const entered = this.nextRound({ ...next, said: true }, context, tally);
    return { state: entered.state, effects: [...late, handOn, ...entered.effects] };
  }

  /**
   * PH7: opens the next round when this one is complete and another one is wanted. A seat that was left behind, and holds an outcome
   * in a later round, closes that one instead. A seat that holds an outcome joins the next round when others have opened it: they
   * need it there.
   */
  private nextRound(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { attempt } = context;
    const { next, outcome } = this.assessor.evaluate(attempt, tally);
    if (next <= state.round) return { state, effects: [] };
    const areSplit = next === state.round + 1 && this.patience.othersSpeakIn(attempt, tally, next);
    if (outcome === null || areSplit) {
      const closed = this.assessor.lastPlace(attempt, state.round);
      return this.openRound({ ...state, closed }, context, tally, state.round + 1);
    }
    const closed = this.assessor.lastPlace(attempt, next - 1);
    return {
      state: state.closed && comparePositions(state.closed, closed) >= 0 ? state : { ...state, closed },
      effects: [],
    };
  }

  private openRound(
    before: Pick<PhasedState, "closed" | "handedOn" | "read">,
    context: SeatContext,
    tally: Tally,
    round: number,
  ): Step<PhasedState> {
    const { closed, handedOn, read } = before;
    return this.enter({ ...opening, round, closed, handedOn, read }, context, tally);
  }

  /** PH10: without a certificate long after a round, sends its messages to everybody: some may have reached this seat alone. */
  private handOn(state: PhasedState, { self }: SeatContext, tally: Tally, round: number): Step<PhasedState> {
    const messages = [...roundSlots(tally, round).values()].flat().filter(({ header }) => header.seat !== self);
    const handedOn = Math.max(state.handedOn, round + 1);
    return { state: { ...state, handedOn }, effects: [{ kind: "forward", messages }] };
  }

  private hear(state: PhasedState, context: SeatContext, tally: Tally, message: Message): Step<PhasedState> {
    const advanced = this.advance(state, context, tally);
    const { round, seat } = message.header;
    if (round >= state.handedOn || seat === context.self) return advanced;
    return { state: advanced.state, effects: [...advanced.effects, { kind: "forward", messages: [message] }] };
  }

  private enter(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { phase } = this.formAt(context, state);
    const waits = this.patience.timeOuts(state, context);
    const speakers = this.speakersOf(context, state);
    if (speakers !== null && !speakers.includes(context.self)) {
      const entered = this.advance({ ...state, said: true }, context, tally);
      return { state: entered.state, effects: [...waits, ...entered.effects] };
    }
    const sources = state.index === 0 ? (this.rules.sources?.(context.attempt, state.round) ?? []) : [];
    if (sources.length > 0) return { state, effects: [...waits, { kind: "read", sources }] };
    const calls = this.rules.calls(this.view(state, context, tally), phase);
    if (calls.length === 0)
      return { state: { ...state, said: true }, effects: [...waits, this.sayPhase(state, context, tally)] };
    const asks = calls.map(({ about, prompt }) => ({ ask: `${state.round}.${about.join(".")}`, about, prompt }));
    return {
      state: { ...state, pending: asks.map(({ ask, about }) => ({ ask, about })) },
      effects: [...waits, ...asks.map(({ ask, prompt }): Effect => ({ kind: "ask", ask, prompt }))],
    };
  }

  private observe(
    state: PhasedState,
    context: SeatContext,
    tally: Tally,
    ask: string,
    observation: Observation,
  ): Step<PhasedState> {
    const call = state.pending.find((one) => one.ask === ask);
    if (call === undefined) return { state, effects: [] };
    const pending = state.pending.filter((one) => one !== call);
    const noted = { ...state, pending, ...this.note(state, context, call, observation) };
    return pending.length > 0 ? { state: noted, effects: [] } : this.speak(noted, context, tally);
  }

  private receive(
    state: PhasedState,
    context: SeatContext,
    tally: Tally,
    blocks: readonly (Uint8Array | null)[],
  ): Step<PhasedState> {
    if (state.read !== null) return { state, effects: [] };
    const read = { ...state, read: blocks.map((block) => block && readIn(block, blocks.length)) };
    // A reading that comes too late finds the seat in another phase, which waits for its model and not for it.
    return state.said || state.pending.length > 0 ? { state: read, effects: [] } : this.speak(read, context, tally);
  }

  /** PH9: a failed call leaves nothing but the reason: it can never look like an answer. */
  private note(
    state: PhasedState,
    context: SeatContext,
    { about }: Pending,
    observation: Observation,
  ): Partial<Pick<PhasedState, "answered" | "failed">> {
    const { phase } = this.formAt(context, state);
    if (observation.kind === "failed") {
      const failed = [...(state.failed.get(phase) ?? []), observation.reason];
      return { failed: new Map(state.failed).set(phase, failed) };
    }
    const { kind: _, ...answer } = observation;
    const before = state.answered.get(phase) ?? [];
    return { answered: new Map(state.answered).set(phase, [...before, { about, ...answer }]) };
  }

  private speak(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const effect = this.sayPhase(state, context, tally);
    const advanced = this.advance({ ...state, said: true }, context, tally);
    return { state: advanced.state, effects: [effect, ...advanced.effects] };
  }

  private sayPhase(state: PhasedState, context: SeatContext, tally: Tally): Effect {
    const form = this.formAt(context, state);
    const body = form.encode(this.rules.say(this.view(state, context, tally), form.phase));
    const { partial } = this.assessor.plan(context.attempt, state.round);
    const said = partial.has(form.phase) ? body : withSeen(body, ...state.seen);
    const answered = toldWith(form.phase).flatMap((phase) => state.answered.get(phase) ?? []);
    const origins = answered.flatMap(({ origin }) => origin ?? []);
    return { kind: "send", phase: form.phase, round: state.round, payload: withOrigins(said, origins) };
  }
}

/** PH12: the phases whose answers' origins a message tells. Those of COMMIT wait for REVEAL: whoever has the model could compute the answer. */
function toldWith(phase: number): readonly number[] {
  if (phase === commitForm.phase) return [];
  return phase === revealForm.phase ? [commitForm.phase, phase] : [phase];
}
