/** A compared number in a trace of models/questions.py: "c2 720 max 500 fails". */
const COMPARED = /^c(\d) (\d+) (max|min) (\d+) (ok|fails)$/;
/** The end of the rules of a policy question, which the facts follow. */
const FACTS = /\.\s(?:Claim|Case|Facts): /;

/**
 * A policy question with one limit changed so that the answer is the other one: what a poisoned source says. `proof`: the true trace. Null when
 * no limit alone turns the answer.
 */
export function poisoned(text: string, truth: string, proof: string): string | null {
  const end = text.search(FACTS);
  const start = text.indexOf(": ") + 2;
  if (end < start) return null;
  const clauses = text.slice(start, end).split("; ");
  const steps = proof.split("; ");
  // A trace ends where the first rule fails: only behind the last one nothing else can fail.
  if (truth === "no" && steps.length < clauses.length) return null;
  const step = steps
    .map((one) => COMPARED.exec(one))
    .findLast((one) => one?.[5] === (truth === "yes" ? "ok" : "fails"));
  if (step === undefined || step === null) return null;
  const [, index, fact, kind, limit] = step as unknown as readonly string[];
  const changed = limitFor(Number(fact), kind as "max" | "min", truth === "no");
  const clause = clauses[Number(index) - 1] ?? "";
  // The last one: before it a clause may have the same number as its own.
  const at = clause.lastIndexOf(limit as string);
  if (at < 0 || changed < 1) return null;
  clauses[Number(index) - 1] = `${clause.slice(0, at)}${changed}${clause.slice(at + (limit as string).length)}`;
  return `${text.slice(0, start)}${clauses.join("; ")}${text.slice(end)}`;
}

/** A limit that the fact holds, or breaks. */
function limitFor(fact: number, kind: "max" | "min", holds: boolean): number {
  const away = Math.max(1, Math.round(fact * 0.3));
  return holds === (kind === "max") ? fact + away : fact - away;
}
