import { protocolName } from "../shared/protocol-words.ts";
import { openRecentHistory, type RecentPage } from "../../adapters/chain/recent.ts";
import { readChainTerms } from "../../adapters/chain/terms.ts";
import { MAX_PAGE, openSubgraph } from "../../adapters/subgraph/subgraph.ts";
import { ConclaveError } from "../../core/errors.ts";
import { protocolById, protocols } from "../../core/protocols/index.ts";
import { REQUEST_STATUSES } from "../../core/request/events.ts";
import type { AgentId } from "../../core/types.ts";
import type { PageWanted, PastRequest, HistoryFilter, RequestPage } from "../../ports/history.ts";
import {
  formatAmount,
  parseAddress,
  parseChoice,
  parseInteger,
  parseTime,
  unitOf,
  usage,
  type Unit,
} from "../shared/arguments.ts";
import { findChain } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec, Result } from "../shared/command.ts";
import { csv } from "./csv.ts";
import {
  HOW_TO_GET,
  compareWithChain,
  findEndpoint,
  sourceText,
  subgraphFlags,
  type SubgraphFlags,
} from "../shared/subgraph-source.ts";
import { statusWords } from "../shared/decision-words.ts";
import { grid, percent, printable, utc } from "../shared/output.ts";

interface Options extends SubgraphFlags {
  readonly agent?: string;
  readonly consumer?: string;
  readonly protocol?: string;
  readonly status?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit: string;
  readonly cursor?: string;
  readonly blocks?: string;
  readonly csv?: true;
}

const STATUSES = REQUEST_STATUSES.filter((status) => status !== "none");
const MAX_AGENT = 2 ** 31 - 1;
const MAX_CODE = 255;
/** Blocks to read without a subgraph; a node takes minutes for more. */
const DEFAULT_BLOCKS = 10_000;
const MAX_BLOCKS = 1_000_000;
const QUESTION_SHOWN = 48;

export const history: CommandSpec<Options> = {
  example:
    "conclave history --status decided,hung --protocol mbft --after 7d --subgraph http://127.0.0.1:8000/subgraphs/name/conclave\nconclave history --agent 3 --csv --deployment deployments/31337.json",
  options: [
    { flags: "--agent <number>", description: "requests for which this agent sat on a committee" },
    { flags: "--consumer <address>", description: "asked by this account" },
    { flags: "--protocol <id>", description: `decided under this protocol, by its id or code` },
    { flags: "--status <list>", description: `one or more of ${STATUSES.join(",")}` },
    {
      flags: "--after <time>",
      description: "asked at this time or later: 2026-11-22, 2026-11-22T08:30:00Z (UTC), or 7d ago",
    },
    { flags: "--before <time>", description: "asked at this time or before" },
    { flags: "--limit <count>", description: `rows of a page, at most ${MAX_PAGE}`, default: "25" },
    { flags: "--cursor <text>", description: "the next page, as named by the page before" },
    { flags: "--blocks <count>", description: "read the events of the last blocks from the chain, without a subgraph" },
    { flags: "--csv", description: "print comma separated values, amounts in the smallest unit" },
    ...subgraphFlags,
  ],
  run: async ({ options, host, json, tell }) => {
    if (json && options.csv === true) throw new ConclaveError("USAGE", "Print the history: give --json or --csv", {});
    const filter = filterOf(options, Math.floor(Date.now() / 1000));
    const limit = parseInteger(options.limit, "--limit", 1, MAX_PAGE);
    const page = { limit, cursor: options.cursor ?? null };
    const endpoint = options.blocks === undefined ? await findEndpoint(options, host) : null;
    if (endpoint === null) return fromEvents(filter, page, options, host, tell);
    const said = await openSubgraph(endpoint).requests(filter, page, host.signal);
    const { answer, source, units } = await compareWithChain(endpoint, said, options, host);
    return resultOf(answer, units.feeToken, { source, text: sourceText(source) }, options, tell);
  },
};

async function fromEvents(
  filter: HistoryFilter,
  page: PageWanted,
  options: Options,
  host: CliHost,
  tell: (line: string) => void,
): Promise<Result> {
  const blocks = parseInteger(options.blocks ?? String(DEFAULT_BLOCKS), "--blocks", 1, MAX_BLOCKS);
  if (options.blocks === undefined)
    tell(`no subgraph is named: reading the events of the last ${blocks} blocks; for all of it ${HOW_TO_GET}`);
  const chain = await findChain(options, host);
  const [recent, terms] = await Promise.all([
    openRecentHistory(chain, host.signal),
    readChainTerms(chain, host.signal),
  ]);
  const onProgress = (done: number, total: number): void => {
    if (done < total) tell(`${done} of ${total} blocks`);
  };
  const found = await recent.requests(filter, page, { blocks, signal: host.signal, onProgress });
  const { fromBlock, toBlock }: RecentPage = found;
  const text = `asked in blocks ${fromBlock} to ${toBlock}, by the chain's events; what is older is not among them`;
  return resultOf(found, terms.feeToken, { source: { kind: "events", fromBlock, toBlock }, text }, options, tell);
}

function resultOf(
  { requests, next }: RequestPage,
  feeToken: Unit,
  { source, text }: { readonly source: object; readonly text: string },
  options: Options,
  tell: (line: string) => void,
): Result {
  const json = { source, requests: requests.map(requestJson), next };
  const more = next === null ? "no further page" : `next page: --cursor ${next}`;
  if (options.csv !== true) {
    const table = requests.length === 0 ? "no requests" : tableOf(requests, feeToken);
    return { json, text: `${table}\n\n${text}; ${more}` };
  }
  tell(`${text}; ${more}`);
  return { json, text: csvOf(requests) };
}

/** Reads the filter. Throws USAGE or PROTOCOL_UNKNOWN. */
function filterOf({ agent, consumer, protocol, status, after, before }: Options, now: number): HistoryFilter {
  return {
    agentId: agent === undefined ? null : (parseInteger(agent, "--agent", 1, MAX_AGENT) as AgentId),
    consumer: consumer === undefined ? null : parseAddress(consumer, "--consumer"),
    protocol: protocol === undefined ? null : codeOf(protocol),
    statuses: status === undefined ? null : status.split(",").map((one) => parseChoice(one, "--status", STATUSES)),
    since: after === undefined ? null : parseTime(after, "--after", now),
    until: before === undefined ? null : parseTime(before, "--before", now),
  };
}

/** Reads a protocol's name, or its code, since history may hold protocols that this version does not know. */
function codeOf(text: string): number {
  if (/^\d+$/.test(text)) return parseInteger(text, "--protocol", 0, MAX_CODE);
  const found = protocolById(text);
  if (found !== null) return found.code;
  const known = protocols.map(({ id }) => id).join(", ");
  throw usage("--protocol", text, `choose one of ${known}, or give a code`);
}

function requestJson({ protocol, ...request }: PastRequest): object {
  return { ...request, protocol: protocolName(protocol), protocolCode: protocol };
}

function tableOf(requests: readonly PastRequest[], feeToken: Unit): string {
  return grid(
    ["request", "asked", "protocol", "status", "answer", "confidence", "signed by", "fee", "question"],
    requests.map((one) => [
      String(one.requestId),
      utc(one.time),
      protocolName(one.protocol),
      `${statusWords(one.status)}${one.provisional ? ", provisional" : ""}`,
      answerText(one),
      one.decision === null ? "-" : percent(one.decision.confidence),
      one.decision?.signers.map(({ agentId }) => `#${agentId}`).join(" ") ?? "-",
      formatAmount(one.fee, unitOf(one.currency, feeToken)),
      cut(printable(one.question)),
    ]),
  );
}

function answerText({ decision }: PastRequest): string {
  if (decision === null) return "-";
  return decision.status === "decided" ? cut(printable(decision.answer)) : "none";
}

function cut(text: string): string {
  return text.length > QUESTION_SHOWN ? `${text.slice(0, QUESTION_SHOWN - 3).toWellFormed()}...` : text;
}

const COLUMNS = [
  "request",
  "time",
  "status",
  "provisional",
  "settled",
  "protocol",
  "kind",
  "consumer",
  "currency",
  "fee",
  "attempt",
  "answer",
  "confidencePpm",
  "signers",
  "transcript",
  "transaction",
  "question",
];

function csvOf(requests: readonly PastRequest[]): string {
  const lines = requests.map(({ decision, ...one }) => [
    String(one.requestId),
    utc(one.time),
    one.status,
    String(one.provisional),
    String(one.settled),
    protocolName(one.protocol),
    one.kind,
    one.consumer,
    one.currency,
    String(one.fee),
    String(one.attempt),
    printable(decision?.answer ?? ""),
    decision === null ? "" : String(decision.confidence),
    decision?.signers.map(({ agentId }) => agentId).join(" ") ?? "",
    printable(decision?.transcript ?? ""),
    one.transaction,
    printable(one.question),
  ]);
  return csv(COLUMNS, lines);
}
