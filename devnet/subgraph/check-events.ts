// Every event has its entity, and every immutable entity has its event.
import { zeroAddress, type Hex } from "viem";
import { unpackHead, unpackMerits, unpackRelay } from "../../agents/adapters/chain/settlement.ts";
import { cidString } from "../../agents/core/encoding/cid.ts";
import { hexToBytes } from "../../agents/core/encoding/bytes.ts";
import { LAYOUTS } from "../../agents/core/encoding/layouts.ts";
import { unpackSeat, unpackWord } from "../../agents/core/encoding/words.ts";
import { capital } from "../../agents/adapters/subgraph/subgraph.ts";
import { NO_SEED_BLOCK } from "../../agents/core/request/rounds.ts";
import type { Digest } from "../../agents/core/types.ts";
import { find, type Entities, type Entity } from "./entities.ts";
import { checkServices } from "./check-services.ts";
import { compare, lower, rows, type Ledger } from "./ledger.ts";
import type { DecodedLog } from "./logs.ts";

/** Number of entities of each type that each event makes. */
const made: Readonly<Record<string, readonly string[]>> = {
  AgentKey: ["AgentRegistered", "SignerRotated"],
  StakeChange: ["StakeBonded", "UnbondingStarted", "StakeWithdrawn", "StakeSlashed"],
  ReputationChange: ["ReputationChanged"],
  Request: ["Requested"],
  Attempt: ["Requested", "RequestReopened"],
  Decision: ["DecisionCommitted"],
  RoundPay: ["RoundPaid", "DecisionSettled"],
  CallerPay: ["CallerPaid", "SettlerPaid"],
  Callback: ["CallbackFailed", "CallbackSucceeded", "RefundCallbackFailed"],
  Evidence: ["EquivocationProven", "DecisionOverturned"],
  Slash: ["StakeSlashed"],
  RequestSubscription: ["SubscriptionCreated"],
  SubscriptionMovement: ["SubscriptionFunded", "SubscriptionWithdrawn"],
  Withdrawal: ["Withdrawn"],
  Claim: ["Claimed"],
  RewardClaim: ["RewardsClaimed"],
  CommissionChange: ["CommissionChanged", "CommissionRaiseAnnounced"],
  PriceList: ["PricesSet"],
  ParameterChange: ["PricesSet", "RequestsPaused", "RequestsUnpaused"],
};

export function checkEvents(entities: Entities, logs: readonly DecodedLog[], ledger: Ledger): void {
  for (const [type, names] of Object.entries(made)) {
    const expected = logs.filter(({ eventName }) => names.includes(eventName)).length;
    ledger.equal(`number of ${type}`, rows(entities, type).length, expected);
  }
  const asked = logs.filter(({ eventName }) => eventName === "Requested");
  ledger.equal("deployment.requests", rows(entities, "Deployment")[0]?.["requests"], asked.length);
  checkOffers(entities, logs, ledger);
  for (const [index, log] of asked.entries()) checkNumber(entities, log, index + 1, ledger);
  for (const log of logs) {
    checkAgentEvent(entities, log, ledger);
    checkRequestEvent(entities, log, ledger);
  }
  checkServices(entities, logs, ledger);
  checkRefunds(entities, logs, ledger);
}

/** Compares how refunded requests ended, and whether their consumers were told so. */
function checkRefunds(entities: Entities, logs: readonly DecodedLog[], ledger: Ledger): void {
  const ids = (name: "RequestCancelled" | "RefundCallbackFailed" | "RequestRefunded"): ReadonlySet<string> =>
    new Set(logs.flatMap((log) => (log.eventName === name ? [String(log.args.requestId)] : [])));
  const [cancelled, unheard] = [ids("RequestCancelled"), ids("RefundCallbackFailed")];
  for (const request of rows(entities, "Request"))
    ledger.equal(`request ${request.id}.cancelled`, request["cancelled"], cancelled.has(request.id));
  for (const id of ids("RequestRefunded")) {
    const request = find(entities, "Request", id);
    const isWanted = !cancelled.has(id) && request["callbackGasLimit"] !== 0;
    const told = unheard.has(id) ? "Failed" : "Delivered";
    ledger.equal(`request ${id}.callback`, request["callback"], isWanted ? told : "NotWanted");
  }
}

/** The contracts tell no offer of an agent but in events. */
function checkOffers(entities: Entities, logs: readonly DecodedLog[], ledger: Ledger): void {
  const offers = new Map<number, string | null>();
  for (const log of logs)
    if (log.eventName === "OperatorTransferred") offers.set(log.args.agentId, null);
    else if (log.eventName === "OperatorTransferStarted")
      offers.set(log.args.agentId, log.args.to === zeroAddress ? null : lower(log.args.to));
  for (const agent of rows(entities, "Agent"))
    ledger.equal(`agent ${agent.id}.offeredTo`, agent["offeredTo"], offers.get(Number(agent.id)) ?? null);
}

function checkAgentEvent(entities: Entities, log: DecodedLog, ledger: Ledger): void {
  const id = eventId(log);
  switch (log.eventName) {
    case "AgentRegistered":
      checkKey(find(entities, "AgentKey", lower(log.args.signer)), log.args, ledger);
      break;
    case "SignerRotated":
      checkKey(find(entities, "AgentKey", lower(log.args.signer)), log.args, ledger);
      break;
    case "EquivocationProven":
      compare(ledger, `evidence ${id}`, find(entities, "Evidence", id), {
        agent: log.args.agentId,
        request: log.args.requestId,
        requestHash: log.args.requestHash,
        attempt: log.args.attempt,
        reporter: lower(log.args.reporter),
        fault: ["Messages", "Decisions"][log.args.fault],
      });
      checkEvidence(entities, find(entities, "Evidence", id), ledger);
      break;
    case "DecisionOverturned":
      compare(ledger, `evidence ${id}`, find(entities, "Evidence", id), {
        agent: log.args.agentId,
        request: log.args.requestId,
        attempt: log.args.attempt,
        reporter: lower(log.args.appellant),
        fault: "Overturned",
      });
      checkEvidence(entities, find(entities, "Evidence", id), ledger);
      break;
    case "RewardsClaimed": {
      const { agentId, account, to, amount } = log.args;
      const expected = { agent: agentId, account: lower(account), to: lower(to), amount };
      compare(ledger, `reward claim ${id}`, find(entities, "RewardClaim", id), expected);
      break;
    }
    case "StakeSlashed": {
      const { agentId, bonded, unbonding, reward } = log.args;
      compare(ledger, `slash ${id}`, find(entities, "Slash", id), { agent: agentId, bonded, unbonding, reward });
      break;
    }
    default:
  }
}

function checkRequestEvent(entities: Entities, log: DecodedLog, ledger: Ledger): void {
  switch (log.eventName) {
    case "Requested":
      compare(ledger, `request ${log.args.requestId}`, find(entities, "Request", String(log.args.requestId)), {
        consumer: lower(log.args.consumer),
        fee: unpackWord(LAYOUTS.requestTerms, log.args.terms).fee,
        protocol: log.args.terms & 0xffn,
        transaction: log.transactionHash,
      });
      checkAttempt(entities, `${log.args.requestId}-0`, log.args.seedBlock, "First", ledger);
      break;
    case "RequestReopened":
      checkReopened(entities, log.args, ledger);
      break;
    case "DecisionCommitted":
      checkDecision(entities, log.args, ledger);
      break;
    case "AttemptUnanswered":
      checkUnanswered(entities, log.args, ledger);
      break;
    case "DecisionSettled": {
      const { requestId, pay, treasuryPay, relayerPay, rest } = log.args;
      const request = find(entities, "Request", String(requestId));
      ledger.equal(`request ${requestId}.refund`, request["refund"], rest);
      const round = find(entities, "RoundPay", `${requestId}-${String(request["attempt"])}`);
      compare(ledger, `round ${round.id}`, round, { pay, treasuryPay, relayerPay });
      break;
    }
    case "FeeRefunded": {
      const id = String(log.args.requestId);
      ledger.equal(`request ${id}.refund`, find(entities, "Request", id)["refund"], log.args.amount);
      break;
    }
    case "RoundPaid": {
      const id = `${log.args.requestId}-${log.args.attempt}`;
      const { pay, treasuryPay, relayer, relayerPay } = log.args;
      const expected = { pay, treasuryPay, relayer: lower(relayer), relayerPay };
      compare(ledger, `round ${id}`, find(entities, "RoundPay", id), expected);
      break;
    }
    case "CallerPaid": {
      const { requestId, caller, amount, rest } = log.args;
      const expected = { request: requestId, caller: lower(caller), amount, rest };
      compare(ledger, `pay of caller ${eventId(log)}`, find(entities, "CallerPay", eventId(log)), expected);
      break;
    }
    case "SettlerPaid": {
      const { requestId, settler, amount } = log.args;
      const expected = { request: requestId, caller: lower(settler), amount, rest: 0 };
      compare(ledger, `pay of caller ${eventId(log)}`, find(entities, "CallerPay", eventId(log)), expected);
      break;
    }
    case "AppealResolved": {
      const id = `${log.args.requestId}-${log.args.attempt}`;
      compare(ledger, `appeal ${id}`, find(entities, "Appeal", id), {
        appellant: lower(log.args.appellant),
        state: log.args.upheld ? "Upheld" : "Lost",
        returned: log.args.amount,
      });
      break;
    }
    default:
  }
}

/** Requests are numbered as they were asked. */
function checkNumber(entities: Entities, log: DecodedLog, number: number, ledger: Ledger): void {
  if (log.eventName !== "Requested") return;
  const id = String(log.args.requestId);
  ledger.equal(`request ${id}.number`, find(entities, "Request", id)["number"], number);
}

function checkKey(key: Entity, { agentId, publicKey }: { agentId: number; publicKey: Hex }, ledger: Ledger): void {
  compare(ledger, `key ${key.id}`, key, { agent: agentId, publicKey });
}

type ArgsOf<Name extends DecodedLog["eventName"]> = Extract<DecodedLog, { eventName: Name }>["args"];

function checkAttempt(entities: Entities, id: string, seedBlock: bigint, cause: string, ledger: Ledger): void {
  compare(ledger, `attempt ${id}`, find(entities, "Attempt", id), { seedBlock, cause });
}

/** Why an attempt began that nobody appealed for, by the attempt before it. */
function causeAfter(entities: Entities, before: string, seedBlock: bigint): string {
  const attempt = find(entities, "Attempt", before);
  if (attempt["decision"] === null) return attempt["seedBlock"] === String(NO_SEED_BLOCK) ? "Waited" : "Silent";
  if (seedBlock === NO_SEED_BLOCK) return "TooEarly";
  return find(entities, "Decision", before)["status"] === "Hung" ? "Hung" : "Unsure";
}

function checkReopened(entities: Entities, args: ArgsOf<"RequestReopened">, ledger: Ledger): void {
  const { requestId, attempt, seedBlock, appellant, bond } = args;
  const before = `${requestId}-${attempt - 1}`;
  const isRetry = appellant === zeroAddress;
  const cause = isRetry ? causeAfter(entities, before, seedBlock) : "Appeal";
  checkAttempt(entities, `${requestId}-${attempt}`, seedBlock, cause, ledger);
  if (isRetry) return;
  compare(ledger, `appeal ${before}`, find(entities, "Appeal", before), { appellant: lower(appellant), bond });
}

/** The appeal that nobody answered is the request's last one. */
function checkUnanswered(entities: Entities, args: ArgsOf<"AttemptUnanswered">, ledger: Ledger): void {
  const { requestId, attempt, appellant, bond } = args;
  const id = `${requestId}-${attempt}`;
  ledger.equal(`attempt ${id}.decision`, find(entities, "Attempt", id)["decision"], null);
  if (appellant === zeroAddress) return;
  const appeal = find(entities, "Appeal", String(find(entities, "Request", String(requestId))["appeal"]));
  const expected = { appellant: lower(appellant), state: "Unanswered", returned: bond };
  compare(ledger, `appeal ${appeal.id}`, appeal, expected);
}

function checkCommittee(entities: Entities, id: string, committee: readonly bigint[], ledger: Ledger): void {
  const seats = committee.map((word) => unpackSeat(word));
  const agents = seats.map((seat) => seat?.agentId);
  compare(ledger, `attempt ${id}`, find(entities, "Attempt", id), { committee: agents, decision: id });
  for (const [number, seat] of seats.entries())
    compare(ledger, `seat ${id}-${number}`, find(entities, "Seat", `${id}-${number}`), {
      agent: seat?.agentId,
      reputation: seat?.reputation,
      skill: seat?.skill,
      signer: seat?.signer,
      decision: id,
    });
}

function checkDecision(entities: Entities, args: ArgsOf<"DecisionCommitted">, ledger: Ledger): void {
  const head = unpackHead(args.head);
  if (typeof head === "string") return ledger.equal("head", head, "well formed");
  const id = `${args.requestId}-${head.attempt}`;
  checkCommittee(entities, id, args.committee, ledger);
  const relay = unpackRelay(args.relay);
  const merits = unpackMerits(hexToBytes(args.merits), head.seats);
  const signers = Array.from({ length: head.seats }, (_, seat) => seat).filter(
    (seat) => (relay.signers >> BigInt(seat)) & 1n,
  );
  const steps = Array.from({ length: head.seats }, () => 0);
  for (const { seat, steps: moved } of merits?.reputationChanges ?? []) steps[seat] = moved;
  compare(ledger, `decision ${id}`, find(entities, "Decision", id), {
    status: capital(head.status),
    confidence: head.confidence,
    answered: head.answered,
    agreed: head.agreed,
    ballot: head.round,
    outcome: args.outcome,
    answer: new TextDecoder().decode(hexToBytes(args.answer)),
    transcript: cidString(args.transcript as Digest),
    signerSeats: signers,
    // graph-node gives entities in the order of their ids.
    signers: signers.map((seat) => `${id}-${seat}`).toSorted(),
    shares: merits?.shares,
    steps,
    relayer: relay.relayer,
    gasPrice: relay.gasPrice,
  });
}

/** Checks that the evidence is about a request that the subgraph has, and that a slash follows it. */
function checkEvidence(entities: Entities, evidence: Entity, ledger: Ledger): void {
  const request = entities["Request"]?.get(String(evidence["request"]));
  ledger.equal(`evidence ${evidence.id}: hash of its request`, request?.["hash"], evidence["requestHash"]);
  const slashes = rows(entities, "Slash").filter((slash) => slash["evidence"] === evidence.id);
  ledger.equal(`evidence ${evidence.id}: slashes`, slashes.length, 1);
}

/** Returns the transaction hash with the index appended, as `Bytes.concatI32` does. */
function eventId({ transactionHash, logIndex }: DecodedLog): string {
  const bytes = Array.from({ length: 4 }, (_, byte) => (logIndex >> (8 * byte)) & 0xff);
  return `${transactionHash}${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
