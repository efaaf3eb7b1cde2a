import { verifyRequest, type VerifyReport, type VerifyStep } from "../node/verify.ts";
import type { AgentRecord, ChainEvent } from "../ports/chain.ts";
import type { RequestId } from "../core/types.ts";
import type { ChainReader } from "../ports/chain.ts";
import { parseRequestId } from "./arguments.ts";
import { createAuditReader } from "./audit-reader.ts";
import { chainFlags, findChain, type ChainFlags } from "./chain-source.ts";
import type { CommandSpec } from "./command.ts";
import { contentFlags, openContentSource, type ContentFlags } from "./content-source.ts";
import { printable, rows, type Row } from "./output.ts";

interface Options extends ChainFlags, ContentFlags {}

export const verify: CommandSpec<Options> = {
  name: "verify <id>",
  summary: "prove a decision: every hash and signature, then the replay; needs no model and trusts no agent",
  example: "conclave verify 1 --deployment deployments/31337.json",
  options: [...contentFlags, ...chainFlags],
  run: async ({ args, options, host, progress, json }) => {
    const requestId = parseRequestId(args[0]);
    const chain = await createAuditReader(await findChain(options, host), host.signal);
    const agents = (): Promise<readonly AgentRecord[]> => committeeFirst(chain, requestId, host.signal);
    const store = await openContentSource(options, agents, host);
    try {
      const onProgress = json ? undefined : progressLines(progress);
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
  },
};

/** The agents that sat hold the transcript; the others may. Throws REQUEST_UNKNOWN. */
async function committeeFirst(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<readonly AgentRecord[]> {
  const [events, agents] = await Promise.all([chain.requestEvents(requestId, signal), chain.agents(signal)]);
  const drawn = events.flatMap((event: ChainEvent) => (event.kind === "committeeDrawn" ? event.committee : []));
  const sat = new Set(drawn.map(({ agentId }) => agentId));
  return [...agents.filter(({ agentId }) => sat.has(agentId)), ...agents.filter(({ agentId }) => !sat.has(agentId))];
}

/** One line when a step is complete. */
function progressLines(progress: (line: string) => void): (step: VerifyStep, done: number, total: number) => void {
  return (step, done, total) => {
    if (done === total) progress(`ok  ${step}${total > 1 ? ` (${total})` : ""}`);
  };
}

function textOf(report: VerifyReport): string {
  const { checked, decision, refused, failure } = report;
  const lines: Row[] = [
    ["request", report.requestId],
    ["transcript", report.root ?? "none"],
    [
      "certificate",
      checked.certificateSignatures === null
        ? "not readable: committed through another contract"
        : `${checked.certificateSignatures} signatures verified`,
    ],
    ["blocks", `${checked.blocks} of ${report.messages + 1} with the right hash`],
    ["messages", `${checked.messageSignatures} of ${report.messages} signatures verified`],
  ];
  if (decision !== null) lines.push(["decision", decision.status === "hung" ? "hung" : printable(decision.answer)]);
  if (refused !== null) lines.push(["refused", refused]);
  if (failure === undefined) lines.push(["verdict", "PROVEN: the transcript yields exactly what the chain holds"]);
  else
    lines.push(
      ["verdict", `REFUTED at ${failure.step}`],
      ["block", failure.cid ?? "none"],
      ["reason", printable(failure.reason)],
    );
  return rows(lines);
}
