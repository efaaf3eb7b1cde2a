// A node of a chain that holds given decisions and nothing else, for tests of whoever reads a chain with viem.
import {
  custom,
  createPublicClient,
  encodeAbiParameters,
  encodeEventTopics,
  encodeFunctionData,
  numberToHex,
  pad,
  type AbiEvent,
  type Hex,
  type PublicClient,
} from "viem";
import { encodeCommit } from "../../agents/adapters/chain/encode.ts";
import { packHead, packMerits, packRelay } from "../../agents/adapters/chain/settlement.ts";
import { bytesToHex, keccak256, utf8 } from "../../agents/core/encoding/bytes.ts";
import { packSeat, packTerms } from "../../agents/core/encoding/words.ts";
import { questionBytes } from "../../agents/core/request/question.ts";
import type { Address, Attempt, Certificate } from "../../agents/core/types.ts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { packRound } from "./memory-chain/rounds.ts";

/** What the node says of one request. */
export interface OnChain {
  readonly attempt: Attempt;
  readonly certificate: Certificate;
}

export const NODE_REGISTRY = `0x${"0b".repeat(20)}` as Address;

const REGISTRY_CALL = encodeFunctionData({ abi: decisionOracleAbi, functionName: "registry" });
const HEAD = 100;
const SEED_BLOCK = 3n;
const EPOCH_BLOCKS = 160;
const DEADLINE = 1_900_000_000;

interface RawLog {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: Hex;
}

/** Creates a client of the node. All requests are of one oracle. */
export function clientOf(requests: readonly OnChain[]): PublicClient {
  const [first] = requests;
  if (first === undefined) throw new Error("a node needs a request");
  const { chainId } = first.attempt.domain;
  const logs = requests.flatMap((one, index) => logsOf(one, index));
  const request = async ({
    method,
    params = [],
  }: {
    method: string;
    params?: readonly unknown[];
  }): Promise<unknown> => {
    switch (method) {
      case "eth_chainId":
        return numberToHex(chainId);
      case "eth_blockNumber":
        return numberToHex(HEAD);
      case "eth_getBlockByNumber":
        return { number: numberToHex(HEAD), timestamp: numberToHex(DEADLINE - 1_000), transactions: [] };
      case "eth_getLogs": {
        const [{ topics }] = params as [{ readonly topics: readonly (Hex | null)[] }];
        return logs.filter((log) => topics[1] === undefined || topics[1] === null || log.topics[1] === topics[1]);
      }
      case "eth_getTransactionByHash":
        return requests.map((one, index) => transactionOf(one, index)).find(({ hash }) => hash === params[0]);
      case "eth_call": {
        const [{ data }] = params as [{ readonly data: Hex }];
        return data === REGISTRY_CALL ? pad(NODE_REGISTRY, { size: 32 }) : numberToHex(EPOCH_BLOCKS, { size: 32 });
      }
      case "eth_getCode":
        return "0x";
      default:
        throw new Error(`the node has no ${method}`);
    }
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }) });
}

function logsOf({ attempt: { domain, request, committee }, certificate }: OnChain, index: number): readonly RawLog[] {
  const { decision } = certificate;
  const signers = certificate.signatures.reduce((bits, { seat }) => bits | (1n << BigInt(seat)), 0n);
  const logOf = (eventName: "Requested" | "DecisionCommitted", args: Readonly<Record<string, unknown>>): RawLog => {
    const item = decisionOracleAbi.find((one) => one.type === "event" && one.name === eventName) as AbiEvent;
    const plain = item.inputs.filter(({ indexed }) => indexed !== true);
    const topics = encodeEventTopics({ abi: decisionOracleAbi, eventName, args });
    return {
      address: domain.oracle,
      topics: topics as readonly Hex[],
      data: encodeAbiParameters(
        plain,
        plain.map(({ name = "" }) => args[name]),
      ),
      blockNumber: numberToHex(eventName === "Requested" ? 1 : 20),
      blockHash: keccak256(utf8(eventName)),
      transactionHash: hashOf(eventName, index),
      logIndex: numberToHex(index),
    };
  };
  const requestId = request.id;
  return [
    logOf("Requested", {
      requestId,
      consumer: request.consumer,
      terms: packTerms(request.terms),
      round: packRound({ link: 0n, appeals: 0, deadline: DEADLINE }),
      seedBlock: SEED_BLOCK,
      question: bytesToHex(questionBytes(request.question)),
    }),
    logOf("DecisionCommitted", {
      requestId,
      head: packHead({ ...decision, seats: committee.length }),
      outcome: decision.outcome,
      transcript: decision.transcript,
      relay: packRelay({ signers, gasPrice: 0n, relayer: request.consumer }),
      committee: committee.map(packSeat),
      answer: bytesToHex(utf8(decision.answer)),
      merits: bytesToHex(packMerits(decision)),
    }),
  ];
}

function transactionOf({ attempt: { domain, request, attempt }, certificate }: OnChain, index: number) {
  const round = packRound({ link: 0n, appeals: 0, deadline: DEADLINE });
  const awaited = { round, attempt, seedBlock: SEED_BLOCK, past: [] };
  return {
    hash: hashOf("DecisionCommitted", index),
    to: domain.oracle,
    input: encodeCommit(request, awaited, "0x", certificate),
  };
}

function hashOf(name: string, index: number): Hex {
  return keccak256(utf8(`${name} ${index}`));
}
