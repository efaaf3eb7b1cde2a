import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { ConclaveError } from "../../core/errors.ts";
import { committeeSizeAfter, reviewedBy, unpackRound } from "../../core/request/rounds.ts";
import type { RequestId } from "../../core/types.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import type { ChainReader } from "../../ports/chain.ts";
import { progressOf, dueOf, isFinal, lastRound, type Progress } from "../../core/request/progress.ts";
import { accountFlags, openAccount, requireFunds, type AccountFlags } from "../shared/account.ts";
import { formatAmount, unitOf } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { openRequest } from "../shared/request-source.ts";
import { rows } from "../shared/output.ts";
import { reportRequest } from "../shared/request-report.ts";
import { waitForDecision } from "../shared/wait.ts";

interface Options extends AccountFlags {
  readonly dryRun?: true;
  readonly wait?: true;
}

export const appeal: CommandSpec<Options> = {
  example: "conclave appeal 1 --dry-run\nconclave appeal 1 --keystore ./keystore.json --wait",
  options: [
    { flags: "--dry-run", description: "only show the bond and the committee that it would call" },
    { flags: "--wait", description: "show progress until the decision is final" },
    ...accountFlags,
  ],
  run: async ({ args, options, host, tell }) => {
    const { requestId, source, chain, terms } = await openRequest(args, options, host);
    const { progress, last } = await requireAppealable(chain, requestId, host.signal);
    const { request } = progress;
    const appeals = unpackRound(last.round).appeals + 1;
    const { active, others } = await drawable(reviewedBy([...progress.past, last], appeals), chain, host.signal);
    const { currency } = request.terms;
    const bond = await terms.bond(request, last.round, host.signal);
    const seats = committeeSizeAfter(request.terms.committeeSize, appeals);
    const shown = formatAmount(bond, unitOf(currency, terms.feeToken));
    const facts = { requestId, attempt: last.decision.attempt + 1, seats, bond, currency };
    tell(`request ${requestId}: a bond of ${shown} calls a committee of ${seats}`);
    if (active < seats)
      tell(`only ${active} agents are active: unless more join, nobody can answer, and the request ends as hung`);
    else if (others < seats)
      tell(
        `only ${others} agents are active that sat in no committee which it reviews: unless more join, some sit again (SE3)`,
      );
    if (options.dryRun === true)
      return {
        json: facts,
        text: rows([
          ["bond", shown],
          ["committee", `${seats} seats`],
        ]),
      };
    const keys = await openAccount(options, host);
    await requireFunds({ what: "bond", amount: bond, currency }, terms, keys.address, host.signal);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const { transactionHash, gasUsed } = await actions.appeal(request, last);
    const made = { ...facts, transactionHash, gasUsed: Number(gasUsed) };
    if (options.wait === true) {
      const state = await waitForDecision(chain, requestId, host.signal, tell);
      const { json, text } = await reportRequest(chain, terms, requestId, host.signal);
      return { json: { ...json, appeal: made }, text, ok: state.status === "decided" };
    }
    return {
      json: made,
      text: rows([
        ["bond", shown],
        ["committee", `${seats} seats`],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
        ["next", `conclave decision ${requestId}`],
      ]),
    };
  },
};

async function requireAppealable(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<{ readonly progress: Progress; readonly last: DecidedRound }> {
  const [events, head] = await Promise.all([chain.requestEvents(requestId, signal), chain.head(signal)]);
  const progress = progressOf(events);
  const last = progress === null ? null : lastRound(progress);
  if (progress === null || last === null) throw impossible(requestId, "no decision stands yet");
  if (isFinal(progress)) throw impossible(requestId, "its decision is final");
  if (dueOf(progress, head) === "finalize") throw impossible(requestId, "the time for appeals is over");
  return { progress, last };
}

/** Counts the agents that could be drawn now, and those of them that sat in none of these rounds. */
async function drawable(
  rounds: readonly DecidedRound[],
  chain: ChainReader,
  signal: AbortSignal,
): Promise<{ readonly active: number; readonly others: number }> {
  const sat = new Set(rounds.flatMap(({ committee }) => committee.map(({ agentId }) => agentId)));
  const active = (await chain.agents(signal)).filter((agent) => agent.active);
  return { active: active.length, others: active.filter(({ agentId }) => !sat.has(agentId)).length };
}

function impossible(requestId: RequestId, why: string): ConclaveError {
  return new ConclaveError("APPEAL_IMPOSSIBLE", `Appeal against the decision on request ${requestId}: ${why}`, {
    requestId: String(requestId),
  });
}
