/** A compared number in a trace of models/questions.py: "c2 720 max 500 fails". */
const COMPARED = /^c(\d) (\d+) (max|min) (\d+) (ok|fails)$/;
/** End of the rules of a policy question; the facts follow it. */
const FACTS = /\.\s(?:Claim|Case|Facts): /;

/**
 * Returns a policy question with one limit changed so that its answer turns: the text of a poisoned source. `proof`:
 * the true trace. Null if no single limit turns the answer.
 */
export function poisoned(text: string, truth: string, proof: string): string | null {
  const end = text.search(FACTS);
  const start = text.indexOf(": ") + 2;
  if (end < start) return null;
  const clauses = text.slice(start, end).split("; ");
  const steps = proof.split("; ");
  // A trace ends at the first rule that fails, so that only behind the last clause nothing else can fail.
  if (truth === "no" && steps.length < clauses.length) return null;
  const step = steps
    .map((one) => COMPARED.exec(one))
    .findLast((one) => one?.[5] === (truth === "yes" ? "ok" : "fails"));
  if (step === undefined || step === null) return null;
  const [, index, fact, kind, limit] = step as unknown as readonly string[];
  const changed = limitFor(Number(fact), kind as "max" | "min", truth === "no");
  const clause = clauses[Number(index) - 1] ?? "";
  // The last match: an earlier clause may have the same number.
  const at = clause.lastIndexOf(limit as string);
  if (at < 0 || changed < 1) return null;
  clauses[Number(index) - 1] = `${clause.slice(0, at)}${changed}${clause.slice(at + (limit as string).length)}`;
  return `${text.slice(0, start)}${clauses.join("; ")}${text.slice(end)}`;
}

/** Returns a limit that the fact keeps, or breaks. */
function limitFor(fact: number, kind: "max" | "min", holds: boolean): number {
  const away = Math.max(1, Math.round(fact * 0.3));
  return holds === (kind === "max") ? fact + away : fact - away;
}
