import Table from "cli-table3";
import { meaningOf } from "../../agents/cli/shared/protocol-words.ts";
import { percent } from "../../agents/cli/shared/output.ts";
import { numberOf } from "./request-number.ts";
import type { DemoReport } from "./run.ts";

/** Renders the tables that the demo ends with. */
export function renderReport(report: DemoReport, keeps: boolean): string {
  const { id, assurance } = report.protocol;
  const table = new Table({
    head: [
      "#",
      "question",
      "protocol",
      "decision",
      "confidence",
      "as expected",
      "signed by",
      id === "hashgraph" ? "events" : "rounds",
      "gas",
      "called back",
      "verified",
    ],
    colWidths: [5, 34, 15, 16, 12, 13, 12, 8, 10, 8, 10],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const one of report.decisions) {
    table.push([
      numberOf(one.requestId),
      one.question,
      `${id}\n(${assurance})`,
      `${one.status}: ${one.answer}`,
      percent(one.confidence),
      one.correct ? "yes" : `NO: ${one.expected}`,
      one.signers.map((seat) => `#${one.seats[seat]?.agentId}`).join(" "),
      one.rounds,
      one.commitGas,
      one.callbackSucceeded ? "yes" : "NO",
      one.verified ? "yes" : "NO",
    ]);
  }
  const details = report.decisions.map((one) =>
    [
      `request #${numberOf(one.requestId)} ${one.requestId}: transaction ${one.commitTx}`,
      `           transcript  ${one.transcript}`,
      ...one.documents.map(({ cid, text }) => `           source      ${cid}: ${JSON.stringify(text)}`),
      // Without --keep the network and its folder are gone by now.
      ...(keeps
        ? [`           verify      npx conclave verify ${one.requestId} --deployment ${report.deploymentFile}`]
        : []),
    ].join("\n"),
  );
  const told = report.decisions.map(
    (one) => `--- request #${numberOf(one.requestId)} ---\n\n${one.argument.trimEnd()}\n`,
  );
  const notes = [
    `a certificate of ${id} says: ${meaningOf[assurance]}`,
    ...report.agents.filter(({ lies }) => lies).map(liarNote),
    `tokens earned: ${report.agents.map(({ agentId, earned }) => `#${agentId} ${Number(earned).toFixed(2)}`).join(", ")}`,
    ...(id === "hashgraph" ? ["events: how many the seat that said most had said"] : []),
    ...(keeps ? [] : ["to verify a decision yourself, keep the network: npm run demo -- --keep"]),
  ];
  const quoted = report.decisions.some(({ quotations }) => quotations.length > 0) ? renderQuotations(report) : "";
  return `${told.join("\n")}\n${table.toString()}\n${quoted}${details.join("\n")}\n\n${notes.join("\n")}\n`;
}

/** What became of a liar, who may well sign what the others decided. */
function liarNote({ agentId, slashed }: DemoReport["agents"][number]): string {
  const lost = Number(slashed);
  const cost =
    lost > 0
      ? `proofs of its double signatures took ${lost.toFixed(2)} of its stake`
      : "no proof of its double signatures has reached the chain yet";
  return `agent #${agentId} lied and equivocated: ${cost}; where it signs, it certifies what the others decided`;
}

/** What answers quote of the pages, and by how many seats each was read. */
function renderQuotations({ decisions, model }: DemoReport): string {
  const table = new Table({
    head: ["#", "source", "quotation", "answers", "quoted by", "witnessed by"],
    colWidths: [5, 32, 62, 12, 11, 14],
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { head: [], border: [] },
  });
  for (const one of decisions) {
    const seats = one.seats.length;
    const none = [numberOf(one.requestId), "", "nothing: no passage has enough witnesses", "", "", ""];
    const rows = one.quotations.map(({ source, words, answers, quotedBy, witnessedBy }) => [
      numberOf(one.requestId),
      source,
      words,
      answers.join(", "),
      `${quotedBy} of ${seats}`,
      `${witnessedBy} of ${seats}`,
    ]);
    table.push(...(rows.length === 0 ? [none] : rows));
  }
  const notes = [
    `the agents read pages of this demo on loopback, and the model ${model} answered from them; a number at a JSON pointer is read by code, and no model is asked`,
    "the liar was shown another policy at /returns and another number; at /notice every agent was shown another policy",
  ];
  return `${table.toString()}\n${notes.join("; ")}\n`;
}
