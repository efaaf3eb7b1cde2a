import { verdictOf, type VerifyReport, type VerifyStep } from "../../node/audit/report.ts";
import { verifyRequest } from "../../node/audit/verify.ts";
import type { AgentRecord } from "../../ports/chain.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Decision, RequestId } from "../../core/types.ts";
import { answerOf } from "../shared/decision-words.ts";
import { parseRequestId, usage } from "../shared/arguments.ts";
import { createAuditReader } from "../shared/audit-reader.ts";
import { chainFlags, findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec, Invocation, Result } from "../shared/command.ts";
import { committeeFirst } from "../shared/committee-first.ts";
import { contentFlags, openTranscriptSource, type ContentFlags } from "../shared/content-source.ts";
import { printable, rows, type Row } from "../shared/output.ts";
import { manyFlags, parseSelection, verifyMany, type ManyFlags } from "./many.ts";

const WHICH = "give one request, or --from ID --to ID, or --since BLOCK";

interface Options extends ManyFlags, ChainFlags, ContentFlags {}

export const verify: CommandSpec<Options> = {
  example: [
    "conclave verify 1 --deployment deployments/31337.json",
    "conclave verify --from 1 --to 200 --json",
    "conclave verify --since 0 --state audit.jsonl",
  ].join("\n"),
  options: [...manyFlags, ...contentFlags, ...chainFlags],
  run: async (invocation) => {
    const [id] = invocation.args;
    const selection = parseSelection(invocation.options);
    if (selection === null)
      return verifyOne(invocation, id === undefined ? await refuseNone(invocation) : parseRequestId(id));
    if (id === undefined) return verifyMany(invocation, selection);
    throw usage("<id>", id, WHICH);
  },
};

/** Throws USAGE, but first what is wrong with the files that name the chain. */
async function refuseNone({ options, host }: Invocation<Options>): Promise<never> {
  if (options.deployment !== undefined || options.dir !== undefined) await findChain(options, host);
  throw new ConclaveError("USAGE", `Read <id>: it is missing; ${WHICH}`, { option: "<id>", value: "" });
}

async function verifyOne({ options, host, tell, json }: Invocation<Options>, requestId: RequestId): Promise<Result> {
  const chain = await createAuditReader(await findChain(options, host), host.signal);
  const agents = (): Promise<readonly AgentRecord[]> => committeeFirst(chain, requestId, host.signal);
  const store = await openTranscriptSource(options, agents, host);
  try {
    const onProgress = json ? undefined : progressLines(tell);
    const report = await verifyRequest({
      chain,
      store,
      requestId,
      signal: host.signal,
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    return { json: report, text: textOf(report), ok: report.ok };
  } finally {
    await store.close();
  }
}

/** Tells a line for each completed step. */
function progressLines(tell: (line: string) => void): (step: VerifyStep, done: number, total: number) => void {
  return (step, done, total) => {
    if (done === total) tell(`ok  ${step}${total > 1 ? ` (${total})` : ""}`);
  };
}

function textOf(report: VerifyReport): string {
  const { decision, refused, failure } = report;
  const lines: Row[] = [["request", report.requestId]];
  if (decision !== null) lines.push(...checkedRows(report, decision));
  if (refused !== null) lines.push(["refused", refused]);
  lines.push(["verdict", verdictOf(report)]);
  if (failure !== undefined && failure.cid !== null) lines.push(["block", failure.cid]);
  if (failure !== undefined) lines.push(["reason", printable(failure.reason)]);
  const way = failure === undefined ? null : wayOutOfFailure(failure, report.requestId);
  if (way !== null) lines.push(["way out", way]);
  return rows(lines);
}

/** Returns what to do about the failure; null if the decision or a signature is at fault. */
function wayOutOfFailure({ kind, step }: NonNullable<VerifyReport["failure"]>, requestId: string): string | null {
  if (kind === "undecided")
    return `nothing is refuted: conclave decision ${requestId} says whether one is to come; then verify again`;
  if (kind === "broken") return "nothing is refuted: name another source of the block, and verify again";
  if (kind !== "unavailable") return null;
  return step === "chain"
    ? "nothing is refuted: update conclave, and verify again"
    : "nothing is refuted: name a source that holds the block, and verify again";
}

function checkedRows({ root, messages, checked }: VerifyReport, decision: Decision): readonly Row[] {
  return [
    ["transcript", root ?? "none"],
    [
      "certificate",
      checked.certificateSignatures === null
        ? "not readable: committed through another contract"
        : `${checked.certificateSignatures} signatures verified`,
    ],
    ["blocks", `${checked.blocks} of ${messages + 1} with the right hash`],
    ["messages", `${checked.messageSignatures} of ${messages} signatures verified`],
    ["decision", answerOf(decision)],
  ];
}
