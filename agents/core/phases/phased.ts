/** Runs a seat through the phases of a protocol (docs/spec/phases.md); what a protocol states is in phased-rules.ts. */
import { limits } from "../limits.ts";
import { withOrigins } from "./origin.ts";
import { seatsOf } from "../seat/order.ts";
import type { Answered, Judged, PhasedRules, SeatView } from "./phased-rules.ts";
import { comparePositions, type Conclusion, type Effect, type Observation, type Position } from "../protocol.ts";
import type { Protocol, SeatContext, Step } from "../protocol.ts";
import { refuseSize, refusing } from "../request/refusal.ts";
import { faultTolerance, holdsHonest, isSupermajority } from "../quorum.ts";
import {
  hasForm,
  heldOf,
  readingOf,
  withSeen,
  type AnyForm,
  type RoundBook,
  type RoundPlan,
  type Seen,
} from "./round-book.ts";
import { filledIn, roundSlots, spokenIn, type RoundSlots, type Tally } from "../seat/tally.ts";
import type { Attempt, Message, SeatIndex } from "../types.ts";

interface Evaluated<Carry> extends Judged<Carry> {
  /** The round after the complete ones. */
  readonly next: number;
}

interface Pending {
  readonly ask: string;
  readonly about: readonly string[];
}

export interface PhasedState {
  readonly round: number;
  /** Of the phase this seat waits in, within the round. */
  readonly index: number;
  /** Whether this seat's message of the phase is out, or it has none to say. */
  readonly said: boolean;
  /** Timers of the phase that run besides its deadline. */
  readonly running: readonly ("grace" | "haste")[];
  /** Model calls of the phase still out. */
  readonly pending: readonly Pending[];
  /** Of this phase. */
  readonly fetched: readonly (Uint8Array | null)[];
  /** By phase of this round. */
  readonly answered: ReadonlyMap<number, readonly Answered[]>;
  /** What this seat held of each phase since the last full one when that phase closed (PH3). */
  readonly seen: readonly Seen[];
  readonly closed: Position | null;
  /** PH10: messages of rounds before this one are handed on. */
  readonly relayed: number;
}

/** Of the timer after which a round's messages are handed on. */
const RELAY = "relay.";

const opening: Omit<PhasedState, "relayed"> = {
  round: 0,
  index: 0,
  said: false,
  running: [],
  pending: [],
  fetched: [],
  answered: new Map(),
  seen: [],
  closed: null,
};

export function phased<Carry>(rules: PhasedRules<Carry>): Protocol<PhasedState> {
  const { id, code, version, title, assurance } = rules;
  const engine = new Engine(rules);
  return refusing({
    id,
    code,
    version,
    title,
    assurance,
    check: (attempt) =>
      refuseSize(attempt, rules.mostSeats ?? limits.maxCommittee) ??
      engine.refuseLength(attempt) ??
      rules.check?.(attempt) ??
      null,
    phasesAtMost: (attempt) => engine.phasesAtMost(attempt),
    refuses: (attempt, slot, payload) => {
      if (slot.round >= rules.rounds(attempt)) return "no-such-round";
      const plan = engine.plan(attempt, slot.round);
      const form = plan.forms.find(({ phase }) => phase === slot.phase);
      if (form === undefined) return "unknown-phase";
      const speakers = rules.speakers?.(attempt, slot.round, slot.phase) ?? null;
      if (speakers !== null && !speakers.includes(slot.seat)) return "not-a-speaker";
      return hasForm(attempt, plan, form, payload) ? null : "malformed-payload";
    },
    read: (attempt, { round, phase }, payload) =>
      round < rules.rounds(attempt) ? readingOf(attempt, engine.plan(attempt, round), phase, payload) : null,
    start: (context) => engine.openRound({ ...opening, relayed: 0 }, context, { rounds: new Map() }, 0),
    step: (state, context, tally, input) => {
      switch (input.kind) {
        case "observed":
          return engine.observe(state, context, tally, input.ask, input.observation);
        case "elapsed":
          if (input.timer.startsWith(RELAY))
            return engine.relay(state, context, tally, Number(input.timer.slice(RELAY.length)));
          return engine.isCurrent(state, context, input.timer)
            ? engine.closePhase(state, context, tally)
            : { state, effects: [] };
        case "message":
          return engine.hear(state, context, tally, input.message);
        case "fetched":
          return engine.receive(state, context, tally, input.fetch, input.blocks);
        case "loaded":
          return { state, effects: [] };
      }
    },
    closed: (state) => state.closed,
    conclude: (attempt, tally) => engine.conclude(attempt, tally),
  });
}

/** The rules in action. Holds nothing but remembered pure results. */
class Engine<Carry> {
  private readonly rules: PhasedRules<Carry>;
  private readonly plans = new WeakMap<Attempt, Map<number, RoundPlan>>();
  private readonly books = new WeakMap<RoundSlots, RoundBook>();
  private readonly judged = new WeakMap<RoundBook, { readonly before: Carry; readonly result: Judged<Carry> }>();
  private readonly initial = new WeakMap<Attempt, Carry>();

  constructor(rules: PhasedRules<Carry>) {
    this.rules = rules;
  }

  phasesAtMost(attempt: Attempt): number {
    let phases = 0;
    for (let round = 0; round < this.rules.rounds(attempt); round++) phases += this.plan(attempt, round).forms.length;
    return phases;
  }

  /** Every seat may speak in every phase, and f of them twice. */
  refuseLength(attempt: Attempt): string | null {
    const seats = attempt.committee.length;
    const messages = (seats + faultTolerance(seats)) * this.phasesAtMost(attempt);
    return messages > limits.messagesPerTranscript
      ? `${seats} seats may say ${messages} messages, more than the ${limits.messagesPerTranscript} of a transcript`
      : null;
  }

  conclude(attempt: Attempt, tally: Tally): Conclusion {
    const { next, outcome } = this.evaluate(attempt, tally);
    if (outcome === null) return { kind: "open" };
    return { kind: "final", outcome, through: this.lastPlace(attempt, next - 1) };
  }

  /**
   * PH7: through the complete rounds; the last of them decides. That an earlier one could have decided is no news: more than 2/3
   * of the seats went on from it, so what would decide it now was withheld from them then.
   */
  private evaluate(attempt: Attempt, tally: Tally): Evaluated<Carry> {
    let evaluated: Evaluated<Carry> = { next: 0, carry: this.start(attempt), outcome: null };
    const rounds = this.rules.rounds(attempt);
    for (let round = 0; round < rounds && this.isComplete(attempt, tally, round); round++)
      evaluated = { next: round + 1, ...this.judge(this.book(attempt, tally, round), evaluated.carry) };
    if (evaluated.next === rounds && evaluated.outcome === null)
      throw new Error(`${this.rules.id} judged its last round without an outcome`);
    return evaluated;
  }

  /** What the rounds before one leave behind, as far as they are complete in this view. */
  private carryInto(attempt: Attempt, tally: Tally, round: number): Carry {
    let carry = this.start(attempt);
    for (let before = 0; before < round && this.isComplete(attempt, tally, before); before++)
      carry = this.judge(this.book(attempt, tally, before), carry).carry;
    return carry;
  }

  /** PH6: more than 2/3 of the seats have filled the last phase. */
  private isComplete(attempt: Attempt, tally: Tally, round: number): boolean {
    const seats = attempt.committee.length;
    return isSupermajority(filledIn(roundSlots(tally, round), this.lastPhase(attempt, round), seats), seats);
  }

  private judge(book: RoundBook, before: Carry): Judged<Carry> {
    const known = this.judged.get(book);
    if (known?.before === before) return known.result;
    const result = this.rules.judge(book, before);
    this.judged.set(book, { before, result });
    return result;
  }

  private start(attempt: Attempt): Carry {
    const known = this.initial.get(attempt);
    if (known !== undefined) return known;
    const carry = this.rules.initial(attempt);
    this.initial.set(attempt, carry);
    return carry;
  }

  plan(attempt: Attempt, round: number): RoundPlan {
    const plans = this.plans.get(attempt) ?? new Map<number, RoundPlan>();
    this.plans.set(attempt, plans);
    const plan = plans.get(round) ?? this.planRound(attempt, round);
    plans.set(round, plan);
    return plan;
  }

  private planRound(attempt: Attempt, round: number): RoundPlan {
    const forms = this.rules.forms(attempt, round);
    const isPartial = ({ phase }: AnyForm): boolean => (this.rules.speakers?.(attempt, round, phase) ?? null) !== null;
    return { forms, partial: new Set(forms.filter(isPartial).map(({ phase }) => phase)) };
  }

  private lastPlace(attempt: Attempt, round: number): Position {
    return { round, phase: this.lastPhase(attempt, round) };
  }

  private lastPhase(attempt: Attempt, round: number): number {
    return (this.plan(attempt, round).forms.at(-1) as AnyForm).phase;
  }

  private formAt(context: SeatContext, state: PhasedState): AnyForm {
    return this.plan(context.attempt, state.round).forms[state.index] as AnyForm;
  }

  private book(attempt: Attempt, tally: Tally, round: number): RoundBook {
    const slots = roundSlots(tally, round);
    const known = this.books.get(slots);
    if (known?.attempt === attempt && known.round === round) return known;
    const book: RoundBook = { attempt, round, plan: this.plan(attempt, round), slots };
    this.books.set(slots, book);
    return book;
  }

  private view(state: PhasedState, context: SeatContext, tally: Tally): SeatView<Carry> {
    const { attempt, self, secret } = context;
    const { round } = state;
    const book = (of: number): RoundBook => this.book(attempt, tally, of);
    return {
      attempt,
      self,
      secret,
      round,
      book: book(round),
      earlier: Array.from({ length: round }, (_, of) => book(of)),
      carry: this.carryInto(attempt, tally, round),
      answered: (phase) => state.answered.get(phase) ?? [],
      fetched: state.fetched,
    };
  }

  isCurrent(state: PhasedState, context: SeatContext, timer: string): boolean {
    return (["phase", "grace", "haste"] as const).some((name) => timer === this.timer(name, state, context));
  }

  private timer(name: "phase" | "grace" | "haste", state: PhasedState, context: SeatContext): string {
    return `${name}.${state.round}.${this.formAt(context, state).phase}`;
  }

  private speakersOf(context: SeatContext, state: PhasedState): readonly SeatIndex[] | null {
    return this.rules.speakers?.(context.attempt, state.round, this.formAt(context, state).phase) ?? null;
  }

  /** PH5: a phase closes when all its speakers have spoken, a grace after more than 2/3 of them have, or at its deadline. */
  advance(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { phase } = this.formAt(context, state);
    if (state.closed !== null && comparePositions(state.closed, { round: state.round, phase }) >= 0)
      return this.nextRound(state, context, tally);
    const slots = roundSlots(tally, state.round);
    const speakers = this.speakersOf(context, state);
    const expected = speakers?.length ?? context.attempt.committee.length;
    const heard =
      speakers === null
        ? filledIn(slots, phase, expected)
        : speakers.filter((seat) => spokenIn(slots, phase, seat) !== null).length;
    if (!state.said || !isSupermajority(heard, expected)) return { state, effects: [] };
    if (heard === expected) return this.closePhase(state, context, tally);
    const isLast = state.index + 1 === this.plan(context.attempt, state.round).forms.length;
    const patience = {
      grace: Math.floor(context.timing.graceMs / (isLast ? 2 : 1)),
      haste: this.othersWentOn(state, context, tally) ? Math.floor(context.timing.graceMs / 4) : null,
    };
    const effects: Effect[] = [];
    const running = [...state.running];
    for (const name of ["grace", "haste"] as const) {
      const delayMs = patience[name];
      if (delayMs === null || running.includes(name)) continue;
      effects.push({ kind: "wait", timer: this.timer(name, state, context), delayMs });
      running.push(name);
    }
    return { state: { ...state, running }, effects };
  }

  /** PH5: more than 1/3 of the seats, hence an honest one, speak after this phase: what this seat still lacks was kept from it. */
  private othersWentOn({ round, index }: PhasedState, { attempt }: SeatContext, tally: Tally): boolean {
    const later = this.plan(attempt, round).forms.slice(index + 1);
    if (later.length === 0) return this.othersSpeakIn(attempt, tally, round + 1);
    const slots = roundSlots(tally, round);
    const ahead = seatsOf(attempt).filter((seat) => later.some(({ phase }) => spokenIn(slots, phase, seat) !== null));
    return holdsHonest(ahead.length, attempt.committee.length);
  }

  /** More than 1/3 of the seats, hence an honest one, have opened a round. */
  private othersSpeakIn(attempt: Attempt, tally: Tally, round: number): boolean {
    if (round >= this.rules.rounds(attempt)) return false;
    const [first] = this.plan(attempt, round).forms as readonly [AnyForm];
    const seats = attempt.committee.length;
    return holdsHonest(filledIn(roundSlots(tally, round), first.phase, seats), seats);
  }

  /** Enters the phase after the one that closes; what this seat has not said by then is said as an abstention. */
  closePhase(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const form = this.formAt(context, state);
    const late = state.said ? [] : [this.sayPhase(state, context, tally)];
    const closed = { round: state.round, phase: form.phase };
    const { forms, partial } = this.plan(context.attempt, state.round);
    const held = heldOf(this.book(context.attempt, tally, state.round), form);
    const next: PhasedState = {
      ...state,
      said: false,
      running: [],
      pending: [],
      fetched: [],
      seen: partial.has(form.phase) ? [...state.seen, held] : [held],
      closed,
    };
    if (state.index + 1 < forms.length) {
      const entered = this.enter({ ...next, index: state.index + 1 }, context, tally);
      return { state: entered.state, effects: [...late, ...entered.effects] };
    }
    const relay: Effect = {
      kind: "wait",
      timer: `${RELAY}${state.round}`,
      delayMs: Math.floor(context.timing.phaseMs / 2),
    };
    const entered = this.nextRound({ ...next, said: true }, context, tally);
    return { state: entered.state, effects: [...late, relay, ...entered.effects] };
  }

  /**
   * PH7: when the round is complete in this view and wants another one, that one opens; a seat that was left behind, and
   * whose view has an outcome in a later round, closes that one instead. One whose view has an outcome joins the next round
   * when others have opened it: they need it there.
   */
  private nextRound(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { attempt } = context;
    const { next, outcome } = this.evaluate(attempt, tally);
    if (next <= state.round) return { state, effects: [] };
    const areSplit = next === state.round + 1 && this.othersSpeakIn(attempt, tally, next);
    if (outcome === null || areSplit) {
      const closed = this.lastPlace(attempt, state.round);
      return this.openRound({ ...state, closed }, context, tally, state.round + 1);
    }
    const closed = this.lastPlace(attempt, next - 1);
    return {
      state: state.closed && comparePositions(state.closed, closed) >= 0 ? state : { ...state, closed },
      effects: [],
    };
  }

  openRound(
    before: Pick<PhasedState, "closed" | "relayed">,
    context: SeatContext,
    tally: Tally,
    round: number,
  ): Step<PhasedState> {
    const { closed, relayed } = before;
    return this.enter({ ...opening, round, closed, relayed }, context, tally);
  }

  /** PH10: without a certificate long after a round, its messages go to everybody: somebody may have told them to this seat alone. */
  relay(state: PhasedState, { self }: SeatContext, tally: Tally, round: number): Step<PhasedState> {
    const messages = [...roundSlots(tally, round).values()].flat().filter(({ header }) => header.seat !== self);
    const relayed = Math.max(state.relayed, round + 1);
    return { state: { ...state, relayed }, effects: [{ kind: "forward", messages }] };
  }

  hear(state: PhasedState, context: SeatContext, tally: Tally, message: Message): Step<PhasedState> {
    const advanced = this.advance(state, context, tally);
    const { round, seat } = message.header;
    if (round >= state.relayed || seat === context.self) return advanced;
    return { state: advanced.state, effects: [...advanced.effects, { kind: "forward", messages: [message] }] };
  }

  private enter(state: PhasedState, context: SeatContext, tally: Tally): Step<PhasedState> {
    const { phase } = this.formAt(context, state);
    const waits = this.deadlines(state, context);
    const speakers = this.speakersOf(context, state);
    if (speakers !== null && !speakers.includes(context.self)) {
      const entered = this.advance({ ...state, said: true }, context, tally);
      return { state: entered.state, effects: [...waits, ...entered.effects] };
    }
    const blocks = this.rules.documents?.(context.attempt, state.round, phase) ?? [];
    if (blocks.length > 0)
      return { state, effects: [...waits, { kind: "fetch", fetch: `${state.round}.${phase}`, blocks }] };
    const calls = this.rules.calls(this.view(state, context, tally), phase);
    if (calls.length === 0)
      return { state: { ...state, said: true }, effects: [...waits, this.sayPhase(state, context, tally)] };
    const asks = calls.map(({ about, prompt }) => ({ ask: `${state.round}.${about.join(".")}`, about, prompt }));
    return {
      state: { ...state, pending: asks.map(({ ask, about }) => ({ ask, about })) },
      effects: [...waits, ...asks.map(({ ask, prompt }): Effect => ({ kind: "ask", ask, prompt }))],
    };
  }

  /**
   * PH5: of the phase that is entered; and of the one after it, where several of the seats alone speak: who hears all of them closes at once,
   * who does not closes at the deadline, and only then begins what the first wait for.
   */
  private deadlines(state: PhasedState, context: SeatContext): readonly Effect[] {
    const { attempt, timing } = context;
    const { round, index } = state;
    const { forms } = this.plan(attempt, round);
    const fewSpeak = (form: AnyForm | undefined): boolean =>
      form !== undefined && (this.rules.speakers?.(attempt, round, form.phase)?.length ?? 1) > 1;
    const wait = (ahead: 0 | 1): Effect => ({
      kind: "wait",
      timer: this.timer("phase", { ...state, index: index + ahead }, context),
      delayMs: timing.phaseMs * (1 + ahead),
    });
    const own = fewSpeak(forms[index - 1]) ? [] : [wait(0)];
    return fewSpeak(forms[index]) ? [...own, wait(1)] : own;
  }

  observe(
    state: PhasedState,
    context: SeatContext,
    tally: Tally,
    ask: string,
    observation: Observation,
  ): Step<PhasedState> {
    const call = state.pending.find((one) => one.ask === ask);
    if (call === undefined) return { state, effects: [] };
    const pending = state.pending.filter((one) => one !== call);
    const noted = { ...state, pending, answered: this.note(state, context, call, observation) };
    if (pending.length > 0) return { state: noted, effects: [] };
    const effect = this.sayPhase(noted, context, tally);
    const advanced = this.advance({ ...noted, said: true }, context, tally);
    return { state: advanced.state, effects: [effect, ...advanced.effects] };
  }

  receive(
    state: PhasedState,
    context: SeatContext,
    tally: Tally,
    fetch: string,
    blocks: readonly (Uint8Array | null)[],
  ): Step<PhasedState> {
    if (state.said || fetch !== `${state.round}.${this.formAt(context, state).phase}`) return { state, effects: [] };
    const noted = { ...state, fetched: blocks };
    const effect = this.sayPhase(noted, context, tally);
    const advanced = this.advance({ ...noted, said: true }, context, tally);
    return { state: advanced.state, effects: [effect, ...advanced.effects] };
  }

  /** A failed call leaves nothing behind: it can never look like an answer. */
  private note(
    state: PhasedState,
    context: SeatContext,
    { about }: Pending,
    observation: Observation,
  ): PhasedState["answered"] {
    if (observation.kind === "failed") return state.answered;
    const { phase } = this.formAt(context, state);
    const { kind: _, ...answer } = observation;
    const before = state.answered.get(phase) ?? [];
    return new Map(state.answered).set(phase, [...before, { about, ...answer }]);
  }

  private sayPhase(state: PhasedState, context: SeatContext, tally: Tally): Effect {
    const form = this.formAt(context, state);
    const body = form.encode(this.rules.say(this.view(state, context, tally), form.phase));
    const { partial } = this.plan(context.attempt, state.round);
    const said = partial.has(form.phase) ? body : withSeen(body, ...state.seen);
    const origins = (state.answered.get(form.phase) ?? []).flatMap(({ origin }) => origin ?? []);
    return { kind: "send", phase: form.phase, round: state.round, payload: withOrigins(said, origins) };
  }
}
