import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { LAYOUTS } from "../../core/encoding/layouts.ts";
import { unpackWord } from "../../core/encoding/words.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { awaitedOf, progressOf } from "../../core/request/progress.ts";
import type { AwaitedRound } from "../../core/request/events.ts";
import type { Address, Request, RequestId } from "../../core/types.ts";
import type { ChainReader } from "../../ports/chain.ts";
import { accountFlags, openAccount, type AccountFlags } from "../shared/account.ts";
import { formatAmount, unitOf } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { openRequest } from "../shared/request-source.ts";
import { rows } from "../shared/output.ts";

export const cancel: CommandSpec<AccountFlags> = {
  example: "conclave cancel 1 --keystore ./keystore.json",
  options: accountFlags,
  run: async ({ args, options, host }) => {
    const { requestId, source, chain, terms } = await openRequest(args, options, host);
    const { request, awaited } = await requireCancellable(chain, requestId, host.signal);
    const keys = await openAccount(options, host);
    requireConsumer(request, keys.address);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const { transactionHash, gasUsed } = await actions.cancel(request, awaited);
    const { fee, currency } = request.terms;
    const { subscription } = unpackWord(LAYOUTS.requestId, requestId);
    const subscriptionId = Number(subscription);
    return {
      json: { requestId, fee, currency, subscriptionId, transactionHash, gasUsed: Number(gasUsed) },
      text: rows([
        ["fee", `${formatAmount(fee, unitOf(currency, terms.feeToken))}, all of it`],
        ["back to", subscriptionId === 0 ? "the account's credit" : `subscription ${subscriptionId}`],
        ["transaction", `${transactionHash} (${gasUsed} gas)`],
        ["next", subscriptionId === 0 ? "conclave withdraw" : `conclave subscription show ${subscriptionId}`],
      ]),
    };
  },
};

/** SE23: the next block must come early enough before the seed block. */
async function requireCancellable(
  chain: ChainReader,
  requestId: RequestId,
  signal: AbortSignal,
): Promise<{ readonly request: Request; readonly awaited: AwaitedRound }> {
  const [events, head] = await Promise.all([chain.requestEvents(requestId, signal), chain.head(signal)]);
  const progress = progressOf(events);
  const awaited = progress === null ? null : awaitedOf(progress);
  if (progress === null || awaited === null) throw impossible(requestId, "no committee is awaited any more");
  if (awaited.attempt > 0) throw impossible(requestId, "its first committee was known");
  if (head.number + 1n + BigInt(limits.cancelBlocks) > awaited.seedBlock)
    throw impossible(
      requestId,
      `its committee may be known: the seed block is ${awaited.seedBlock}, and the latest block is ${head.number}; without --delay a request can be cancelled only in its first blocks`,
    );
  return { request: progress.request, awaited };
}

function requireConsumer({ id, consumer }: Request, account: Address): void {
  if (consumer !== account) throw impossible(id, `${consumer} asked, not ${account}`);
}

function impossible(requestId: RequestId, why: string): ConclaveError {
  return new ConclaveError("CANCEL_IMPOSSIBLE", `Cancel request ${requestId}: ${why}`, {
    requestId: String(requestId),
  });
}
