import { REQUEST_STATUSES } from "../../agents/core/request/events.ts";
import { CURRENCIES, ONE_PPM } from "../../agents/core/types.ts";
import {
  ADDRESS,
  BYTES,
  FUNCTION,
  HEX,
  LINK,
  SIGNAL,
  TEXT,
  having,
  kindOf,
  listOf,
  oneOf,
  optional,
  orNull,
  record,
  units,
  wholeNumber,
  type Kind,
  type Kinds,
} from "./arguments.ts";

export const REQUEST_ID: Kind = units(256);
export const AGENT_ID: Kind = wholeNumber(1, 2 ** 32 - 1);
export const CHAIN_ID: Kind = wholeNumber(1, Number.MAX_SAFE_INTEGER);
const SUBSCRIPTION_ID = wholeNumber(0, 2 ** 48 - 1);
const STAKE = units(128);
const AMOUNT = units(256);
const ALLOWANCE = units(104);
const COMMISSION = wholeNumber(0, ONE_PPM);
const CURRENCY = oneOf(CURRENCIES);
const SECONDS = wholeNumber(0, Number.MAX_SAFE_INTEGER);
const ENTRIES = wholeNumber(1, 100);
const HEIR = orNull(ADDRESS);

const protocol = kindOf(
  "a protocol's id or its code",
  (value) => typeof value === "string" || Number.isSafeInteger(value),
);
const HASH = kindOf(
  "the hash of a transaction: 0x and 64 hexadecimal digits",
  (value) => typeof value === "string" && /^0x[0-9a-fA-F]{64}$/.test(value),
);
const block = kindOf("the number of a block", (value) => {
  const isBlock = typeof value === "bigint" || Number.isSafeInteger(value);
  return isBlock && (value as bigint | number) >= 0;
});
const wallet = kindOf("a client of viem's createWalletClient, or leave it out", (value) => {
  if (typeof value !== "object" || value === null) return false;
  const { getChainId, sendTransaction, account } = value as Record<string, unknown>;
  const isClient = typeof getChainId === "function" && typeof sendTransaction === "function";
  const { address } = (account ?? { address: "" }) as { readonly address?: unknown };
  return isClient && typeof address === "string";
});
export const CLIENT: Kind = having("a client of viem's createPublicClient", "getChainId", "request");
const WHERE =
  "the deployment on this chain, { chainId, oracle, registry }, as `npm run deploy` and `conclave dev` print it";
export const DEPLOYMENT: Kind = record(
  {
    chainId: CHAIN_ID,
    oracle: ADDRESS,
    registry: ADDRESS,
    deploymentBlock: optional(block),
  },
  WHERE,
);

export const CONFIG: Kind = record(
  {
    publicClient: CLIENT,
    walletClient: optional(wallet),
    deployment: DEPLOYMENT,
    subgraphUrl: optional(LINK),
  },
  "an object with publicClient and deployment",
);

/** What each function takes. */
export const ARGUMENTS = {
  quote: { terms: record({}, "an object with the terms"), signal: SIGNAL },
  ask: {
    request: record(
      { sources: optional(listOf(TEXT)), subscriptionId: optional(SUBSCRIPTION_ID), onSent: optional(FUNCTION) },
      "an object with question and kind",
    ),
  },
  asked: { transactionHash: HASH, signal: SIGNAL },
  follow: {
    requestId: REQUEST_ID,
    options: optional(
      record({ from: optional(TEXT), pollIntervalMs: optional(wholeNumber(0, 2 ** 31 - 1)), signal: SIGNAL }),
    ),
  },
  read: { requestId: REQUEST_ID, signal: SIGNAL },
  history: {
    options: optional(
      record({
        limit: optional(ENTRIES),
        cursor: optional(TEXT),
        agentId: optional(AGENT_ID),
        consumer: optional(ADDRESS),
        protocol: optional(protocol),
        statuses: optional(listOf(oneOf(REQUEST_STATUSES))),
        since: optional(SECONDS),
        until: optional(SECONDS),
        blocks: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
        signal: SIGNAL,
      }),
    ),
  },
  faults: {
    options: optional(
      record({
        limit: optional(ENTRIES),
        agentId: optional(AGENT_ID),
        requestId: optional(REQUEST_ID),
        blocks: optional(wholeNumber(1, Number.MAX_SAFE_INTEGER)),
        signal: SIGNAL,
      }),
    ),
  },
  agentHistory: { agentId: AGENT_ID, limit: ENTRIES, signal: SIGNAL },
  money: { requestId: REQUEST_ID, signal: SIGNAL },
  appealBond: { requestId: REQUEST_ID, signal: SIGNAL },
  appeal: { requestId: REQUEST_ID, mostBond: optional(AMOUNT) },
  cancel: { requestId: REQUEST_ID },
  agents: { signal: SIGNAL },
  position: { agentId: AGENT_ID, account: ADDRESS, signal: SIGNAL },
  rewards: { agentId: AGENT_ID, account: ADDRESS, signal: SIGNAL },
  holdings: { account: ADDRESS, signal: SIGNAL },
  subscription: { subscriptionId: SUBSCRIPTION_ID, signal: SIGNAL },
} as const satisfies Readonly<Record<string, Kinds>>;

/** What each action takes. */
export const ACTIONS = {
  register: {
    registration: record({
      publicKey: BYTES,
      possession: HEX,
      model: TEXT,
      endpoint: listOf(TEXT),
      stake: STAKE,
      commission: COMMISSION,
    }),
  },
  bond: { agentId: AGENT_ID, amount: STAKE },
  startUnbonding: { agentId: AGENT_ID, shares: STAKE },
  withdrawStake: { agentId: AGENT_ID, to: ADDRESS },
  rotateSigner: { agentId: AGENT_ID, publicKey: BYTES, possession: HEX },
  transferOperator: { agentId: AGENT_ID, to: HEIR },
  acceptOperator: { agentId: AGENT_ID },
  setEndpoint: { agentId: AGENT_ID, endpoint: listOf(TEXT) },
  setModel: { agentId: AGENT_ID, model: TEXT },
  startEarning: { agentId: AGENT_ID },
  claimRewards: { agentId: AGENT_ID, currency: CURRENCY, to: ADDRESS },
  setCommission: { agentId: AGENT_ID, commission: COMMISSION },
  raiseCommission: { agentId: AGENT_ID },
  claimReward: { to: ADDRESS },
  withdraw: { currency: CURRENCY, amount: AMOUNT, to: ADDRESS },
  createSubscription: {},
  setConsumer: {
    subscriptionId: SUBSCRIPTION_ID,
    consumer: ADDRESS,
    allowance: record({ token: ALLOWANCE, native: ALLOWANCE }),
  },
  transferSubscription: { subscriptionId: SUBSCRIPTION_ID, to: HEIR },
  acceptSubscription: { subscriptionId: SUBSCRIPTION_ID },
  fund: { subscriptionId: SUBSCRIPTION_ID, currency: CURRENCY, amount: AMOUNT },
  withdrawFunds: { subscriptionId: SUBSCRIPTION_ID, currency: CURRENCY, amount: AMOUNT, to: ADDRESS },
} as const satisfies Readonly<Record<string, Kinds>>;
