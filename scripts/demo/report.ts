import Table from "cli-table3";
import type { DemoReport } from "./run.ts";

/** The table at the end. */
export function renderReport(report: DemoReport, keeps: boolean): string {
  const table = new Table({
    head: ["#", "question", "decision", "signed by", "rounds", "gas", "verified"],
    colWidths: [5, 44, 12, 12, 8, 10, 10],
    wordWrap: true,
    style: { head: [], border: [] },
  });
  for (const one of report.decisions) {
    table.push([
      one.requestId,
      one.question,
      `${one.status}: ${one.answer}`,
      one.signers.map((seat) => `#${one.seats[seat]?.agentId}`).join(" "),
      one.rounds,
      one.commitGas,
      one.verified ? "yes" : "NO",
    ]);
  }
  const details = report.decisions.map(
    (one) =>
      `request ${one.requestId}: transaction ${one.commitTx}\n           transcript  ${one.transcript}\n           verify      npx conclave verify ${one.requestId} --deployment ${report.deploymentFile}`,
  );
  const liars = report.agents.filter((agent) => agent.lies).map((agent) => `#${agent.agentId}`);
  const notes = [
    `agent ${liars.join(", ")} lied and equivocated`,
    ...(keeps ? [] : ["the verify commands need the network: npm run demo -- --keep"]),
  ];
  return `${table.toString()}\n${details.join("\n")}\n${notes.join("; ")}\n`;
}
