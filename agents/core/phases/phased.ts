/** A protocol made of rules for rounds of phases (docs/spec/phases.md): an assessor of message sets and a drive for one seat. */
import { limits } from "../limits.ts";
import { Drive, type PhasedState } from "./drive.ts";
import { Assessor } from "./assess.ts";
import { gathering, withoutSources } from "./gather.ts";
import type { PhasedRules } from "./phased-rules.ts";
import type { Protocol } from "../protocol.ts";
import { refuseSize, withRefusals } from "../request/refusal.ts";
import { hasForm, renderingOf } from "./round-book.ts";

/** SG5: a protocol in which honest seats stand behind the answer reads the sources that a question names; others refuse it. */
export function phased<Carry>(rules: PhasedRules<Carry>): Protocol<PhasedState> {
  return rules.assurance === "byzantine" ? assembled(gathering(rules), true) : assembled(withoutSources(rules), false);
}

function assembled<Carry>(rules: PhasedRules<Carry>, readsSources: boolean): Protocol<PhasedState> {
  const { id, code, version, title, assurance, showsNoAnswers } = rules;
  const assessor = new Assessor(rules);
  const drive = new Drive(rules, assessor);
  return withRefusals({
    id,
    code,
    version,
    title,
    assurance,
    readsSources,
    ...(showsNoAnswers && { showsNoAnswers }),
    refuseRequest: (attempt) =>
      refuseSize(attempt, rules.mostSeats ?? limits.maxCommittee) ??
      assessor.refuseLength(attempt) ??
      rules.refuseRequest?.(attempt) ??
      null,
    phasesAtMost: (attempt) => assessor.phasesAtMost(attempt),
    rejectPayload: (attempt, slot, payload) => {
      if (slot.round >= rules.rounds(attempt)) return "no-such-round";
      const plan = assessor.plan(attempt, slot.round);
      const form = plan.forms.find(({ phase }) => phase === slot.phase);
      if (form === undefined) return "unknown-phase";
      const speakers = assessor.speakers(attempt, slot.round, slot.phase);
      if (speakers !== null && !speakers.includes(slot.seat)) return "not-a-speaker";
      return hasForm(attempt, plan, form, payload) ? null : "malformed-payload";
    },
    render: (attempt, { round, phase }, payload) =>
      round < rules.rounds(attempt) ? renderingOf(attempt, assessor.plan(attempt, round), phase, payload) : null,
    start: (context) => drive.start(context),
    step: (state, context, tally, input) => drive.step(state, context, tally, input),
    closed: (state) => state.closed,
    conclude: (attempt, tally) => assessor.conclude(attempt, tally),
    explain: (attempt, tally) => assessor.explain(attempt, tally),
  });
}
