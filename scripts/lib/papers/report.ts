import { markdownTable } from "../markdown.ts";
import { provenanceText, type Provenance } from "../provenance.ts";
import type { Chart, Claim, Findings, Table } from "./study.ts";

/** What agrees with the paper and what does not, then the tables and plots behind it. */
export function findingsText({ claims, tables, charts }: Findings, provenance: Provenance): string {
  return [
    claimsTable(claims),
    ...tables.map(tableText),
    ...charts.map(({ file, title }: Chart) => `![${title}](plots/${file}.svg)`),
    provenanceText(provenance),
  ].join("\n\n");
}

/** What does not agree comes first. */
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
