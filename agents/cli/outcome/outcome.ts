import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import { isFinal, progressOf, roundsOf, type Progress } from "../../core/request/progress.ts";
import { unpackRound } from "../../core/request/rounds.ts";
import type { RequestId } from "../../core/types.ts";
import type { ChainReader, Receipt } from "../../ports/chain.ts";
import { answerOf } from "../shared/decision-words.ts";
import { accountFlags, openAccount, type AccountFlags } from "../shared/account.ts";
import type { CommandSpec } from "../shared/command.ts";
import { openRequest } from "../shared/request-source.ts";
import { percent, rows, transactionRow, utc, type Row } from "../shared/output.ts";

interface Options extends AccountFlags {
  readonly store?: true;
}

export const outcome: CommandSpec<Options> = {
  example: "conclave outcome 1\nconclave outcome 1 --store --keystore ./keystore.json",
  options: [
    { flags: "--store", description: "store it, so that contracts read it by the request's id; some 80,000 gas" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const { requestId, source, chain, terms } = await openRequest(args, options, host);
    const { progress, last } = await requireFinal(chain, requestId, host.signal);
    const { request } = progress;
    const { stored: storedBefore, ...proven } = await terms.outcome(request, last, host.signal);
    let receipt: Receipt | null = null;
    if (options.store === true && !storedBefore) {
      const keys = await openAccount(options, host);
      const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
      receipt = await actions.storeOutcome(request, last);
    }
    const stored = storedBefore || receipt !== null;
    const { attempt, status, answer, outcome: value, confidence } = last.decision;
    return {
      json: {
        requestId,
        ...proven,
        decision: { attempt, status, outcome: value, answer, confidence },
        stored,
        transactionHash: receipt?.transactionHash ?? null,
        gasUsed: receipt?.gasUsed ?? null,
      },
      text: rows([
        ["request", String(requestId)],
        ["decision", decisionText(last, progress)],
        ["outcome", `${proven.status}, attempt ${proven.attempt}: ${proven.value}`],
        ["confidence", percent(proven.confidence)],
        ["proven", "by the settlement contract, from the last decision"],
        ["stored", stored ? "yes: contracts read settlement.storedOutcome" : "no"],
        ...(receipt === null ? [] : [transactionRow(receipt)]),
        ...(stored ? [] : [["next", `conclave outcome ${requestId} --store`] satisfies Row]),
      ]),
    };
  },
};

/** SE22: finds the last decision of a final request. Throws OUTCOME_IMPOSSIBLE. */
async function requireFinal(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<{ readonly progress: Progress; readonly last: DecidedRound }> {
  const progress = progressOf(await chain.requestEvents(requestId, signal));
  if (progress?.stage.kind === "refunded") throw impossible(requestId, "nobody decided it, and the fee was refunded");
  const last = progress === null ? undefined : roundsOf(progress)?.at(-1);
  if (progress === null || last === undefined) throw impossible(requestId, "no decision stands yet");
  if (!isFinal(progress)) {
    const until = utc(unpackRound(progress.round).deadline);
    throw impossible(
      requestId,
      `its decision is provisional: anybody may appeal until ${until}, and agents finalize it then`,
    );
  }
  return { progress, last };
}

function decisionText({ decision }: DecidedRound, { stage }: Progress): string {
  const shown = `attempt ${decision.attempt}: ${answerOf(decision)}`;
  return stage.kind === "unanswered" ? `${shown}; nobody answered the attempt after it` : shown;
}

function impossible(requestId: RequestId, why: string): ConclaveError {
  return new ConclaveError("OUTCOME_IMPOSSIBLE", `Prove the outcome of request ${requestId}: ${why}`, {
    requestId: String(requestId),
  });
}
