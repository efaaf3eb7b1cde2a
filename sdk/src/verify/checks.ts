import { verdictOf, type VerifyReport, type VerifyStep } from "../../../agents/node/audit/report.ts";

/** One step of a proof. */
export interface Check {
  readonly step: VerifyStep;
  /** Null if the proof did not come so far, or has nothing to check here. */
  readonly passed: boolean | null;
  /** What was checked, or what is wrong, in a sentence. */
  readonly text: string;
  /** CID of the block at fault. */
  readonly cid: string | null;
}

export interface Proof extends VerifyReport {
  /** In words. */
  readonly verdict: string;
  /** Every step, in order. */
  readonly checks: readonly Check[];
}

const STEPS: readonly VerifyStep[] = ["chain", "certificate", "root", "messages", "replay", "decision"];

/** Adds the list of checks to a report. */
export function proofOf(report: VerifyReport): Proof {
  const { failure } = report;
  const failedAt = failure === undefined ? STEPS.length : STEPS.indexOf(failure.step);
  const checks = STEPS.map((step, index): Check => {
    if (failure !== undefined && index === failedAt)
      return { step, passed: false, text: failure.reason, cid: failure.cid };
    if (index > failedAt) return { step, passed: null, text: "not checked", cid: null };
    return { step, ...passedText(step, report), cid: null };
  });
  return { ...report, verdict: verdictOf(report), checks };
}

function passedText(
  step: VerifyStep,
  { checked, root, messages, rounds }: VerifyReport,
): Pick<Check, "passed" | "text"> {
  switch (step) {
    case "chain":
      return { passed: true, text: "the chain holds the question, the committee and a decision that stands" };
    case "certificate":
      return checked.certificateSignatures === null
        ? { passed: null, text: "the transaction does not show the signatures, which the contract checked" }
        : { passed: true, text: `${checked.certificateSignatures} seats signed the decision, more than two thirds` };
    case "root":
      return { passed: true, text: `the root ${root ?? ""} is that of this request, committee and protocol` };
    case "messages":
      return {
        passed: true,
        text: `${messages} messages have the hash that the root states and their seat's signature`,
      };
    case "replay":
      return {
        passed: true,
        text: `the protocol, run again on these messages, ends after ${rounds} ${rounds === 1 ? "round" : "rounds"}`,
      };
    case "decision":
      return { passed: true, text: "the replay yields exactly the decision that the chain holds" };
  }
}
