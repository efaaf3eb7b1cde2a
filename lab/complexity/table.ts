import { protocolById } from "../../agents/core/protocols/index.ts";
import { markdownTable } from "../shared/markdown.ts";
import { certification, differences, protocolCosts, type ProtocolCosts } from "./formulas.ts";
import { costOf, type Cost, type Situation } from "./measure.ts";

const SIZES = [4, 7, 10, 13] as const;
const SITUATIONS: readonly Situation[] = ["agree", "liars", "silent leaders"];

type Measured = ReadonlyMap<string, Cost>;

/** Returns the cost tables of docs/spec/complexity.md; throws if a measured run differs from its formula. */
export function costTables(): string {
  const measured = measureAll();
  return [formulas(), bytes(measured), criticalPath(measured)].join("\n\n");
}

function measureAll(): Measured {
  const measured = new Map<string, Cost>();
  for (const costs of protocolCosts) {
    const protocol = protocolById(costs.id);
    if (protocol === null) throw new Error(`Correct the formulas: there is no protocol ${costs.id}`);
    for (const seats of SIZES)
      for (const situation of SITUATIONS) {
        const cost = costOf(protocol, seats, situation, costs.leading);
        const [different] = differences(costs, seats, situation, cost);
        if (different !== undefined) throw new Error(`Correct the formulas or the protocol: ${different}`);
        // A chair's word decides, so a lying chair decides a lie.
        const expected = protocol.assurance === "chair" && situation === "liars" ? "no" : "yes";
        if (cost.decision !== expected) throw new Error(`${costs.id}, n = ${seats}, ${situation}: ${cost.decision}`);
        measured.set(keyOf(costs, seats, situation), cost);
      }
  }
  return measured;
}

function keyOf({ id }: ProtocolCosts, seats: number, situation: Situation): string {
  return `${id} ${seats} ${situation}`;
}

function formulas(): string {
  return markdownTable(
    ["protocol", "messages", "with f liars", "model calls", "with f liars", "critical path", "with f liars"],
    [
      ...protocolCosts.map(({ id, agree, liars }) => [
        `\`${id}\``,
        agree.messages.text,
        liars.messages.text,
        agree.modelCalls.text,
        liars.modelCalls.text,
        agree.criticalPathCalls.text,
        liars.criticalPathCalls.text,
      ]),
      ["certification, of each", certification.text, certification.text, "0", "0", "0", "0"],
    ],
  );
}

function bytes(measured: Measured): string {
  return markdownTable(
    ["kB of deliberation", ...SIZES.map((seats) => `n = ${seats}`)],
    // Bytes follow from messages: without a closed form for messages their bytes have none.
    protocolCosts
      .filter(({ agree }) => agree.messages.of(SIZES[0]) !== null)
      .map((costs) => [
        `\`${costs.id}\``,
        ...SIZES.map((seats) => ((measured.get(keyOf(costs, seats, "agree"))?.bytes ?? 0) / 1_000).toFixed(0)),
      ]),
  );
}

function criticalPath(measured: Measured): string {
  const path = (costs: ProtocolCosts, situation: Situation): string =>
    SIZES.map((seats) => measured.get(keyOf(costs, seats, situation))?.criticalPathCalls ?? 0).join(", ");
  return markdownTable(
    [
      "model calls on the critical path, n = 4, 7, 10, 13",
      "nobody bad",
      "1, 2, 3, 4 lying leaders in a row",
      "1, 2, 3, 4 silent leaders in a row",
    ],
    protocolCosts.map((costs) => [
      `\`${costs.id}\``,
      path(costs, "agree"),
      path(costs, "liars"),
      costs.leading.phase === null ? "no leader" : path(costs, "silent leaders"),
    ]),
  );
}
