import { zeroAddress, type Log } from "viem";
import { hexToBytes } from "../../core/encoding/bytes.ts";
import { unpackSeat, unpackTerms } from "../../core/encoding/words.ts";
import { limits } from "../../core/limits.ts";
import { rawText } from "../../core/request/question.ts";
import { NAMED_TERMS } from "../../core/types.ts";
import type { Address, AgentId, Digest, RequestId, Round, SeatInfo } from "../../core/types.ts";
import type { ChainEvent } from "../../core/request/events.ts";
import { decodeOracleLog, decodeRegistryLog } from "./event-logs.ts";
import { unpackHead, unpackMerits, unpackRelay } from "./settlement.ts";

/** A mined log. */
export type MinedLog = Log<bigint, number, false>;

/** A log as an event for agents, as one that agents do not need, or as one that is skipped because it is malformed. */
export type Decoded =
  | { readonly kind: "event"; readonly event: ChainEvent }
  | { readonly kind: "irrelevant" }
  | { readonly kind: "skipped"; readonly reason: string };

/** `ChainEvent` without its position, each member of the union on its own. */
type Body = ChainEvent extends infer Event ? (Event extends ChainEvent ? Omit<Event, PositionKey> : never) : never;
type PositionKey = "blockNumber" | "blockHash" | "logIndex" | "transactionHash";

type OracleEvent = ReturnType<typeof decodeOracleLog>;

/** Questions and answers are hashed as bytes, so a byte order mark must survive. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a log of the oracle or the registry strictly. Never throws: anybody can make the oracle emit odd content. */
export function decodeLog(log: MinedLog, oracle: Address, registry: Address): Decoded {
  const address = log.address.toLowerCase();
  try {
    if (address !== oracle && address !== registry) return skipped(`a log of ${address} was not asked for`);
    const body = address === oracle ? oracleBody(decodeOracleLog(log)) : registryBody(log);
    if (body === null) return { kind: "irrelevant" };
    if (typeof body === "string") return skipped(body);
    const { blockNumber, blockHash, logIndex, transactionHash } = log;
    return { kind: "event", event: { blockNumber, blockHash, logIndex, transactionHash, ...body } };
  } catch (error) {
    return skipped(error instanceof Error ? (error.message.split("\n")[0] ?? error.name) : String(error));
  }
}

/** Decodes hex bytes as UTF-8; null if malformed. */
export function utf8Text(hex: `0x${string}`): string | null {
  try {
    return decoder.decode(hexToBytes(hex));
  } catch {
    return null;
  }
}

function skipped(reason: string): Decoded {
  return { kind: "skipped", reason };
}

/** Returns the event; a string is the reason why it is skipped, and null says that agents do not need it. */
function oracleBody(event: OracleEvent): Body | string | null {
  switch (event.eventName) {
    case "Requested":
      return requested(event.args);
    case "RequestReopened":
      return requestReopened(event.args);
    case "DecisionCommitted":
      return decisionCommitted(event.args);
    case "DecisionProvisional":
      return {
        kind: "decisionProvisional",
        requestId: event.args.requestId as RequestId,
        round: event.args.round as Round,
      };
    case "DecisionFinalized":
      return {
        kind: "decisionFinalized",
        requestId: event.args.requestId as RequestId,
        attempt: event.args.attempt,
      };
    case "AttemptUnanswered":
      return attemptUnanswered(event.args);
    case "RequestRefunded":
      return { kind: "requestRefunded", requestId: event.args.requestId as RequestId };
    default:
      return null;
  }
}

type ArgsOf<Name extends OracleEvent["eventName"]> = Extract<OracleEvent, { eventName: Name }>["args"];

function requested(args: ArgsOf<"Requested">): Body | string {
  const bytes = (args.question.length - 2) / 2;
  if (bytes > limits.questionBytes) return `the question has ${bytes} bytes, more than ${limits.questionBytes}`;
  const terms = unpackTerms(args.terms);
  if (terms === null) return `the terms have an unknown value of ${Object.keys(NAMED_TERMS).join(" or ")}`;
  const question = utf8Text(args.question) ?? rawText(hexToBytes(args.question));
  const request = { id: args.requestId as RequestId, consumer: lower(args.consumer), terms, question };
  return { kind: "requested", request, round: args.round as Round, seedBlock: args.seedBlock };
}

function requestReopened({ requestId, round, appellant, ...args }: ArgsOf<"RequestReopened">): Body {
  const { attempt, seedBlock, bond } = args;
  return {
    kind: "requestReopened",
    requestId: requestId as RequestId,
    attempt,
    round: round as Round,
    seedBlock,
    appellant: accountOrNull(appellant),
    bond,
  };
}

function attemptUnanswered({ requestId, attempt, appellant, bond }: ArgsOf<"AttemptUnanswered">): Body {
  const id = requestId as RequestId;
  return { kind: "attemptUnanswered", requestId: id, attempt, appellant: accountOrNull(appellant), bond };
}

function decisionCommitted(args: ArgsOf<"DecisionCommitted">): Body | string {
  const head = unpackHead(args.head);
  if (typeof head === "string") return head;
  const committee = unpackCommittee(args.committee);
  if (typeof committee === "string") return committee;
  const answer = utf8Text(args.answer);
  if (answer === null) return "the answer is not UTF-8";
  const { seats, ...places } = head;
  const merits = unpackMerits(hexToBytes(args.merits), seats);
  if (merits === null) return "the shares or the reputation changes are malformed";
  const transcript = args.transcript as Digest;
  const decision = { ...places, outcome: args.outcome as Digest, answer, transcript, ...merits };
  const requestId = args.requestId as RequestId;
  return { kind: "decisionCommitted", requestId, committee, decision, relay: unpackRelay(args.relay) };
}

/** Events after which other agents are there, or are reached in another way. Most decisions change reputations and stakes, which concern no peer. */
const PEER_CHANGES: ReadonlySet<string> = new Set<ReturnType<typeof decodeRegistryLog>["eventName"]>([
  "AgentRegistered",
  "AgentActivated",
  "AgentDeactivated",
  "AgentExited",
  "AgentFellAsleep",
  "AgentWoke",
  "SignerRotated",
  "EndpointUpdated",
]);

function registryBody(log: MinedLog): Body | null {
  const { eventName, args } = decodeRegistryLog(log);
  if (!PEER_CHANGES.has(eventName) || !("agentId" in args)) return null;
  return { kind: "agentsChanged", agentId: args.agentId as AgentId };
}

/** Returns the seats; a string says why the words are no committee. */
export function unpackCommittee(words: readonly bigint[]): readonly SeatInfo[] | string {
  if (words.length > limits.maxCommittee)
    return `the committee has ${words.length} seats, more than ${limits.maxCommittee}`;
  const committee = words.map(unpackSeat).filter((seat) => seat !== null);
  return committee.length === words.length ? committee : "a seat is malformed";
}

function accountOrNull(address: string): Address | null {
  return address === zeroAddress ? null : lower(address);
}

export function lower(address: string): Address {
  return address.toLowerCase() as Address;
}
