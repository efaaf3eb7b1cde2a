import { markdownTable } from "../shared/markdown.ts";
import { provenanceText, type Provenance } from "../shared/provenance.ts";
import { percent, type Chart, type Claim, type Comparison, type Findings, type Table } from "./study.ts";

/**
 * The report: first the committees that one call of the same model beats, what agrees with the paper and what does
 * not; then the tables and plots behind it.
 */
export function findingsText({ claims, comparisons, tables, charts }: Findings, provenance: Provenance): string {
  return [
    ...(comparisons.length === 0 ? [] : [comparisonText(comparisons)]),
    claimsTable(claims),
    ...tables.map(tableText),
    ...charts.map(({ file, title }: Chart) => `![${title}](plots/${file}.svg)`),
    provenanceText(provenance),
  ].join("\n\n");
}

/** One sentence. */
function comparisonText(all: readonly Comparison[]): string {
  const below = all.filter(({ right, greedyRight }) => right < greedyRight);
  const call = "one greedy call of the same model (the same file at temperature 0)";
  if (below.length === 0) return `No committee here is right less often than ${call} on the same questions.`;
  const listed = below.map(({ who, questions, right, greedyRight }) => {
    const [share, greedy] = [right, greedyRight].map((count) => percent(count / questions));
    return `${who} ${share} against ${greedy} % (${questions} questions)`;
  });
  return `**Less often right than ${call} on the same questions** are ${below.length} of ${all.length} committees here: ${listed.join("; ")}.`;
}

/** Puts what does not agree first. */
function claimsTable(claims: readonly Claim[]): string {
  const order: readonly Claim["agrees"][] = ["no", "in part", "yes", "not redone"];
  const rows = claims
    .toSorted((a, b) => order.indexOf(a.agrees) - order.indexOf(b.agrees))
    .map(({ paper, here, agrees, why }) => [paper, here, agrees === "yes" ? agrees : `**${agrees}**`, why]);
  return markdownTable(["the paper", "here", "agrees", "why"], rows);
}

function tableText({ title, note, head, rows }: Table): string {
  return `#### ${title}\n\n${note}\n\n${markdownTable(head, rows)}`;
}
