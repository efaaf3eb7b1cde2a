import { openSubgraph } from "../../adapters/subgraph/subgraph.ts";
import type { Amounts, Statistics, Sums } from "../../ports/history.ts";
import { formatAmount, parseInteger, unitOf, type Unit } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import {
  compareWithChain,
  requireEndpoint,
  sourceText,
  subgraphFlags,
  type SubgraphFlags,
} from "../shared/subgraph-source.ts";
import { protocolName } from "../shared/protocol-words.ts";
import { grid, rows } from "../shared/output.ts";

interface Options extends SubgraphFlags {
  readonly days: string;
}

const MAX_DAYS = 1_000;
const DAY_MS = 86_400_000;

export const stats: CommandSpec<Options> = {
  example: "conclave stats --days 30 --subgraph http://127.0.0.1:8000/subgraphs/name/conclave",
  options: [
    { flags: "--days <count>", description: `the last days with something, at most ${MAX_DAYS}`, default: "7" },
    ...subgraphFlags,
  ],
  run: async ({ options, host }) => {
    const days = parseInteger(options.days, "--days", 1, MAX_DAYS);
    const endpoint = await requireEndpoint(options, host);
    const said = await openSubgraph(endpoint).statistics(days, host.signal);
    const { answer, source, units } = await compareWithChain(endpoint, said, options, host);
    const json = {
      source,
      ...answer,
      protocols: answer.protocols.map((one) => ({ ...one, protocol: protocolName(one.protocol), code: one.protocol })),
      days: answer.days.map((one) => ({ ...one, day: dateOf(one.day) })),
    };
    return { json, text: `${textOf(answer, units.feeToken)}\n\n${sourceText(source)}` };
  },
};

function textOf({ agents, activeAgents, all, protocols, days }: Statistics, feeToken: Unit): string {
  const lines = [
    ...(all === null ? [] : [{ ...all, name: "all" }]),
    ...protocols.map((one) => ({ ...one, name: protocolName(one.protocol) })),
    ...days.map((one) => ({ ...one, name: dateOf(one.day) })),
  ];
  const head = rows([["agents", `${agents}, ${activeAgents} of them active`]]);
  if (lines.length === 0) return `${head}\n\nno requests`;
  return [head, countTable(lines), moneyTable(lines, feeToken)].join("\n\n");
}

type Line = Sums & { readonly name: string };

function countTable(lines: readonly Line[]): string {
  return grid(
    [
      "",
      "requests",
      "committees",
      "decided",
      "no answer",
      "hung",
      "refunded",
      "settled",
      "appeals",
      "upheld",
      "evidence",
    ],
    lines.map((one) => {
      const { requests, committees, decided, unanswerable, tooEarly, hung, refunded, settled } = one;
      const counts = [requests, committees, decided, unanswerable + tooEarly, hung, refunded, settled];
      return [one.name, ...[...counts, one.appeals, one.appealsUpheld, one.evidence].map(String)];
    }),
  );
}

/** Shows a line for each currency in which something was paid. */
function moneyTable(lines: readonly Line[], feeToken: Unit): string {
  const all = lines.flatMap(({ name, fees, refunds, pay, treasury, relayers }) =>
    (["token", "native"] as const).flatMap((currency) => {
      const amounts: readonly Amounts[] = [fees, refunds, pay, treasury, relayers];
      if (amounts.every((amount) => amount[currency] === 0n)) return [];
      return [[name, ...amounts.map((amount) => formatAmount(amount[currency], unitOf(currency, feeToken)))]];
    }),
  );
  return grid(["", "fees", "back", "pay", "treasury", "relayers"], all);
}

function dateOf(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
