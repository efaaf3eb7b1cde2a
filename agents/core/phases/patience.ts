import type { Assessor } from "./assess.ts";
import type { Effect, SeatContext } from "../protocol.ts";
import { holdsHonest, isSupermajority } from "../quorum.ts";
import type { AnyForm } from "./round-book.ts";
import { filledIn, roundSlots, spokenIn, type Tally } from "../seat/tally.ts";
import { seatsOf } from "../seat/order.ts";
import type { Attempt } from "../types.ts";

/** The phase a seat waits in. */
export interface Waiting {
  readonly round: number;
  /** Index of the phase within the round. */
  readonly index: number;
  /** Timers of the phase that run besides its time-out. */
  readonly running: readonly ("grace" | "haste")[];
}

/**
 * PH5: how long one seat waits in a phase: until its time-out; a grace after more than 2/3 of the speakers have spoken; less if others
 * have gone on. Local: patience decides when a seat speaks, never what messages mean.
 */
export class Patience {
  private readonly assessor: Assessor<unknown>;

  constructor(assessor: Assessor<unknown>) {
    this.assessor = assessor;
  }

  isCurrent(waiting: Waiting, context: SeatContext, timer: string): boolean {
    return (["phase", "grace", "haste"] as const).some((name) => timer === this.timer(name, waiting, context));
  }

  /** How much of the phase this seat has heard: all speakers, more than 2/3 of them, or fewer. */
  heard(waiting: Waiting, { attempt }: SeatContext, tally: Tally): "all" | "quorum" | "few" {
    const { phase } = this.formAt(attempt, waiting);
    const slots = roundSlots(tally, waiting.round);
    const speakers = this.assessor.speakers(attempt, waiting.round, phase);
    const expected = speakers?.length ?? attempt.committee.length;
    const heard =
      speakers === null
        ? filledIn(slots, phase, expected)
        : speakers.filter((seat) => spokenIn(slots, phase, seat) !== null).length;
    if (!isSupermajority(heard, expected)) return "few";
    return heard === expected ? "all" : "quorum";
  }

  /** The timers to start, besides those that run, once more than 2/3 of the speakers have spoken. */
  graces(
    waiting: Waiting,
    context: SeatContext,
    tally: Tally,
  ): { readonly running: Waiting["running"]; readonly effects: readonly Effect[] } {
    const isLast = waiting.index + 1 === this.assessor.plan(context.attempt, waiting.round).forms.length;
    const times = {
      grace: Math.floor(context.timing.graceMs / (isLast ? 2 : 1)),
      haste: this.othersWentOn(waiting, context.attempt, tally) ? Math.floor(context.timing.graceMs / 4) : null,
    };
    const effects: Effect[] = [];
    const running = [...waiting.running];
    for (const name of ["grace", "haste"] as const) {
      const afterMs = times[name];
      if (afterMs === null || running.includes(name)) continue;
      effects.push({ kind: "wait", timer: this.timer(name, waiting, context), afterMs });
      running.push(name);
    }
    return { running, effects };
  }

  /** True if more than 1/3 of the seats, hence an honest one, speak after this phase: what this seat still lacks was kept from it. */
  private othersWentOn({ round, index }: Waiting, attempt: Attempt, tally: Tally): boolean {
    const later = this.assessor.plan(attempt, round).forms.slice(index + 1);
    if (later.length === 0) return this.othersSpeakIn(attempt, tally, round + 1);
    const slots = roundSlots(tally, round);
    const ahead = seatsOf(attempt).filter((seat) => later.some(({ phase }) => spokenIn(slots, phase, seat) !== null));
    return holdsHonest(ahead.length, attempt.committee.length);
  }

  /** True if more than 1/3 of the seats, hence an honest one, have opened the round. */
  othersSpeakIn(attempt: Attempt, tally: Tally, round: number): boolean {
    if (round >= this.assessor.rounds(attempt)) return false;
    const [first] = this.assessor.plan(attempt, round).forms as readonly [AnyForm];
    return hasHonest(attempt, tally, round, first);
  }

  /** True if more than 1/3 of the seats, hence an honest one, speak in a round's last phase, which is another one than this. */
  othersEnd({ round, index }: Waiting, attempt: Attempt, tally: Tally): boolean {
    const { forms } = this.assessor.plan(attempt, round);
    return index + 1 < forms.length && hasHonest(attempt, tally, round, forms.at(-1) as AnyForm);
  }

  /**
   * The time-out of the phase that is entered. If several seats but not all speak in it, the time-out of the next phase
   * starts here, too, and is twice as long: one seat may hear all speakers and go on at once, while another one waits
   * for the time-out of this phase before it speaks in the next.
   */
  timeOuts(waiting: Waiting, context: SeatContext): readonly Effect[] {
    const { attempt, timing } = context;
    const { round, index } = waiting;
    const { forms } = this.assessor.plan(attempt, round);
    const fewSpeak = (form: AnyForm | undefined): boolean =>
      form !== undefined && (this.assessor.speakers(attempt, round, form.phase)?.length ?? 1) > 1;
    const wait = (ahead: 0 | 1): Effect => ({
      kind: "wait",
      timer: this.timer("phase", { ...waiting, index: index + ahead }, context),
      afterMs: timing.phaseMs * (1 + ahead),
    });
    const own = fewSpeak(forms[index - 1]) ? [] : [wait(0)];
    return fewSpeak(forms[index]) ? [...own, wait(1)] : own;
  }

  private timer(name: "phase" | "grace" | "haste", waiting: Waiting, { attempt }: SeatContext): string {
    return `${name}.${waiting.round}.${this.formAt(attempt, waiting).phase}`;
  }

  private formAt(attempt: Attempt, { round, index }: Waiting): AnyForm {
    return this.assessor.plan(attempt, round).forms[index] as AnyForm;
  }
}

function hasHonest({ committee }: Attempt, tally: Tally, round: number, { phase }: AnyForm): boolean {
  return holdsHonest(filledIn(roundSlots(tally, round), phase, committee.length), committee.length);
}
