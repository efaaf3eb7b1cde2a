import { encodeFunctionData, type LocalAccount } from "viem";
import { ConclaveError } from "../../core/errors.ts";
import type { Address, AgentId, RequestId } from "../../core/types.ts";
import type { RequestState } from "../../core/request/events.ts";
import type { RequestRecord } from "../../core/request/progress.ts";
import type { ChainWriter, EquivocationProof, Receipt } from "../../ports/chain.ts";
import { isAttemptOver, isDelivered, isFinalState, isNoMoreProvisional, isRefunded } from "../../core/request/state.ts";
import { agentRegistryAbi } from "@conclave/contracts/abi";
import { sendAll, type BatchTools } from "./batch.ts";
import { createCommitJobs, settleJob } from "./batch-jobs.ts";
import { connect, type ChainOptions, type Connection } from "./connection.ts";
import { lower } from "./decode.ts";
import { encodeAboutLast, encodeFallBack, encodeUnanswered } from "./encode.ts";
import { encodeCommitment, encodeEvidence, isConsumedCall } from "./evidence.ts";
import { revertName } from "./errors.ts";
import { readSlasher } from "./overturn.ts";
import { readSettlement } from "./prices.ts";
import { readRequestState } from "./reader.ts";
import { sleep } from "./backoff.ts";
import {
  CREDIT_GAS,
  createSender,
  toReceipt,
  type Sender,
  type TransactionCall,
  type TransactionOptions,
} from "./transactions.ts";

/** How long to wait before asking again whether another block has come. */
const NEXT_BLOCK_MS = 1_000;
/** How often to ask until a node shows a commitment that is mined: it may be behind the one that mined it. */
const MOST_ASKS = 120;

export interface WriterOptions extends ChainOptions, TransactionOptions {
  /** The account that pays the gas. */
  readonly account: LocalAccount;
}

interface Step {
  readonly call: () => Promise<TransactionCall>;
  /** Reads the request's current state from the chain. */
  readonly isDone: (signal: AbortSignal | undefined) => Promise<boolean>;
}

/** Creates the writer. Throws CHAIN_UNREACHABLE, CHAIN_WRONG_ID or CHAIN_NO_CONTRACT. */
export async function createChainWriter(options: WriterOptions, startSignal?: AbortSignal): Promise<ChainWriter> {
  const connection = await connect(options, startSignal);
  const sender = createSender(connection, options.account, options);
  const to = connection.domain.oracle;
  const submit = (
    requestId: RequestId,
    call: TransactionCall,
    isDone: (state: RequestState) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<Receipt | "already"> => {
    const step = {
      call: async () => ({ ...call, allowance: CREDIT_GAS }),
      isDone: async (ended: AbortSignal | undefined) => isDone(await readRequestState(connection, requestId, ended)),
    };
    return submitOnce(sender, step, signal);
  };

  const toolsFor = (contract: Address): BatchTools => ({
    connection,
    sender,
    contract,
    sendAlone: ({ data, doing, isDone }, signal) =>
      submitOnce(sender, { call: async () => ({ to: contract, data, doing, allowance: CREDIT_GAS }), isDone }, signal),
  });

  return {
    account: lower(options.account.address),
    commit: async (request, awaited, certificate, signal) => {
      const job = await createCommitJobs(connection, signal)({ request, awaited, certificate });
      return toolsFor(to).sendAlone(job, signal);
    },
    commitAll: async (commits, signal) =>
      sendAll(toolsFor(to), await Promise.all(commits.map(createCommitJobs(connection, signal))), signal),
    finalize: (request, last, signal) => {
      const data = encodeAboutLast("finalize", request, last);
      const call = { to, data, doing: `Finalize the decision on request ${request.id}` };
      return submit(request.id, call, (state) => isNoMoreProvisional(state, last.decision.attempt), signal);
    },
    retryCallback: (request, last, signal) => {
      const data = encodeAboutLast("retryCallback", request, last);
      const call = { to, data, doing: `Retry the callback of request ${request.id}` };
      return submit(request.id, call, isDelivered, signal);
    },
    settle: async (request, rounds, signal) =>
      toolsFor(await readSettlement(connection, signal)).sendAlone(settleJob(connection, { request, rounds }), signal),
    settleAll: async (requests, signal) => {
      const jobs = requests.map((one) => settleJob(connection, one));
      return sendAll(toolsFor(await readSettlement(connection, signal)), jobs, signal);
    },
    replace: (request, awaited, signal) => {
      const data = encodeUnanswered("replace", request, awaited);
      const call = { to, data, doing: `Call another committee for request ${request.id}` };
      return submit(request.id, call, (state) => isAttemptOver(state, awaited.attempt), signal);
    },
    refund: (request, awaited, signal) => {
      const data = encodeUnanswered("refund", request, awaited);
      const call = { to, data, doing: `Refund request ${request.id}` };
      return submit(request.id, call, isRefunded, signal);
    },
    fallBack: (request, awaited, signal) => {
      const data = encodeFallBack(request, awaited);
      const doing = `End request ${request.id}, whose last attempt nobody answered`;
      const call = { to, data, doing };
      return submit(request.id, call, isFinalState, signal);
    },
    wake: (agentId, signal) => submitOnce(sender, wakeStep(connection, agentId), signal),
    submitEvidence: (...parameters) => submitEvidence(connection, sender, parameters),
  };
}

function wakeStep(connection: Connection, agentId: AgentId): Step {
  const doing = `Wake agent ${agentId}`;
  const agent = { address: connection.registry, abi: agentRegistryAbi, args: [agentId] } as const;
  const isDone = async (ended: AbortSignal | undefined): Promise<boolean> => {
    const { asleep } = await connection.call(doing, ended, (client) =>
      client.readContract({ ...agent, functionName: "getAgent" }),
    );
    return !asleep;
  };
  const data = encodeFunctionData({ ...agent, functionName: "wake" });
  return { call: async () => ({ to: connection.registry, data, doing }), isDone };
}

/**
 * Commits to the proof if the slasher takes it as one, and shows it in a later block. It pays for one commitment: a node
 * that does not show it is asked again, and at last the refusal is thrown.
 */
async function submitEvidence(
  connection: Connection,
  sender: Sender,
  [proof, readRecord, signal]: Parameters<ChainWriter["submitEvidence"]>,
): Promise<Receipt | "already"> {
  const slasher = await readSlasher(connection, signal);
  const step = evidenceStep(connection, slasher, proof, readRecord);
  let isCommitted = false;
  for (let asks = 0; ; asks += 1) {
    try {
      return await submitOnce(sender, step, signal);
    } catch (error) {
      const refusal = revertName(error);
      const isEarly = refusal === "EvidenceTooEarly" || refusal === "EvidenceNotCommitted";
      if (!isEarly || asks === MOST_ASKS) throw error;
      if (refusal === "EvidenceTooEarly" || isCommitted) {
        await sleep(NEXT_BLOCK_MS, signal);
        continue;
      }
      const data = encodeCommitment(lower(sender.account.address), proof);
      await sender.send({ to: slasher, data, doing: `Commit to evidence against agent ${proof.agentId}` }, signal);
      isCommitted = true;
    }
  }
}

function evidenceStep(
  connection: Connection,
  slasher: Address,
  proof: EquivocationProof,
  readRecord: () => Promise<RequestRecord>,
): Step {
  const doing = `Submit evidence against agent ${proof.agentId}`;
  const isDone = (ended: AbortSignal | undefined): Promise<boolean> =>
    connection.call(doing, ended, (client) => client.readContract(isConsumedCall(slasher, proof)));
  const call: Step["call"] = async () => ({ to: slasher, data: encodeEvidence(proof, await readRecord()), doing });
  return { call, isDone };
}

/**
 * Checks the state before it sends and again after a failure: what is done is done, whoever did it and even if the
 * confirmation was lost.
 */
async function submitOnce(sender: Sender, step: Step, signal: AbortSignal | undefined): Promise<Receipt | "already"> {
  if (await step.isDone(signal)) return "already";
  try {
    return toReceipt(await sender.send(await step.call(), signal));
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    if (await step.isDone(signal).catch(() => false)) return "already";
    throw error;
  }
}
