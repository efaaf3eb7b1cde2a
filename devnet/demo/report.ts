import Table from "cli-table3";
import { meaningOf } from "../../agents/cli/shared/protocol-words.ts";
import { percent } from "../../agents/cli/shared/output.ts";
import type { DemoDecision } from "./facts.ts";
import type { DemoReport } from "./run.ts";

/** The number of a request within its subscription; its whole id is too long for the table. */
function numberOf({ requestId }: DemoDecision): string {
  return String(BigInt.asUintN(48, BigInt(requestId)));
}

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
    colWidths: [5, 34, 15, 14, 12, 13, 12, 8, 10, 8, 10],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const one of report.decisions) {
    table.push([
      numberOf(one),
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
      `request #${numberOf(one)} ${one.requestId}: transaction ${one.commitTx}`,
      `           transcript  ${one.transcript}`,
      ...one.documents.map(({ cid, text }) => `           source      ${cid}: ${JSON.stringify(text)}`),
      // Without --keep the network and its folder are gone by now.
      ...(keeps
        ? [`           verify      npx conclave verify ${one.requestId} --deployment ${report.deploymentFile}`]
        : []),
    ].join("\n"),
  );
  const told = report.decisions.map((one) => `--- request #${numberOf(one)} ---\n\n${one.argument.trimEnd()}\n`);
  const notes = [
    `a certificate of ${id} says: ${meaningOf[assurance]}`,
    ...report.agents.filter(({ lies }) => lies).map(liarNote),
    `tokens earned: ${report.agents.map(({ agentId, earned }) => `#${agentId} ${Number(earned).toFixed(2)}`).join(", ")}`,
    ...(id === "hashgraph" ? ["events: how many the seat that said most had said"] : []),
    ...(keeps ? [] : ["to verify a decision yourself, keep the network: npm run demo -- --keep"]),
  ];
  return `${told.join("\n")}\n${table.toString()}\n${details.join("\n")}\n${notes.join("; ")}\n`;
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
