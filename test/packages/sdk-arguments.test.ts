import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { createPublicClient, createWalletClient, custom } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { sha256 } from "../../agents/core/encoding/bytes.ts";
import { defaultTerms } from "../../agents/core/request/terms.ts";
import { createConclave, ConclaveError, type Conclave } from "../../sdk/src/index.ts";
import { startNetwork } from "../../sdk/src/testing/index.ts";
import { storeOf } from "../../sdk/src/verify/sources.ts";
import { readTranscript, verify, watchLive } from "../../sdk/src/verify/index.ts";

const ADDRESS = `0x${"12".repeat(20)}` as const;
const ACCOUNT = privateKeyToAccount(`0x${"11".repeat(32)}`);
/** A node that tells its chain, and nothing else: what it is asked for was not refused. */
let asked = 0;
const transport = custom(
  {
    request: async ({ method }: { readonly method: string }) => {
      if (method === "eth_chainId") return "0x7a69";
      asked += 1;
      throw new Error("this node knows nothing");
    },
  },
  { retryCount: 0 },
);
const publicClient = createPublicClient({ transport });
const walletClient = createWalletClient({ account: ACCOUNT, transport });
const deployment = { chainId: 31_337, oracle: ADDRESS, registry: ADDRESS, deploymentBlock: 0 };
const config = { publicClient, walletClient, deployment, subgraphUrl: undefined };
const conclave = createConclave({ publicClient, walletClient, deployment });
const { actions } = conclave;

const signal = new AbortController().signal;
const bytes = Uint8Array.of(1, 2, 3);
const terms = {
  ...defaultTerms({ protocol: 1 }),
  fee: 1n,
  tolerance: undefined,
  decimals: undefined,
  options: undefined,
};
const question = { ...terms, question: "Is 720 more than 500?", sources: ["https://example.org/"], subscriptionId: 1 };
const audit = { publicClient, deployment, requestId: 1n, blocks: [{ get: async () => null }], onProgress, signal };
const ended = AbortSignal.abort(new ConclaveError("WORLD_FAILED", "the test ends"));
const live = {
  deployment,
  request: { id: 1n, consumer: ADDRESS, terms: defaultTerms({ protocol: 1 }), question: "Is it?" },
  attempt: 0,
  committee: [{ agentId: 1, signer: ADDRESS, reputation: 1, skill: 1 }],
  streams: ["http://127.0.0.1:9/"],
  signal: ended,
};

type Call = (...args: never[]) => unknown;

/** Every function with arguments that it takes. */
const FUNCTIONS: readonly (readonly [name: string, call: Call, args: readonly unknown[]])[] = [
  ["createConclave", createConclave, [config]],
  ...conclaveCalls({
    quote: [terms, signal],
    ask: [{ ...question, onSent: onProgress }],
    asked: [`0x${"ab".repeat(32)}`, signal],
    follow: [1n, { from: "f-1-1-00000000-0", pollIntervalMs: 20, signal }],
    read: [1n, signal],
    history: [
      {
        limit: 20,
        cursor: "e-1-1",
        agentId: 1,
        consumer: ADDRESS,
        protocol: "mbft",
        statuses: ["decided"],
        since: 0,
        until: 1,
        blocks: 10,
        signal,
      },
    ],
    faults: [{ limit: 20, agentId: 1, requestId: 1n, blocks: 10, signal }],
    agentHistory: [1, 20, signal],
    money: [1n, signal],
    appealBond: [1n, signal],
    appeal: [1n, 1n],
    cancel: [1n],
    agents: [signal],
    position: [1, ADDRESS, signal],
    rewards: [1, ADDRESS, signal],
    holdings: [ADDRESS, signal],
    subscription: [1, signal],
    terms: [],
  }),
  ...actionCalls({
    register: [
      { publicKey: bytes, possession: "0x1234", model: "toy", endpoint: ["/dns/a"], stake: 1n, commission: 1 },
    ],
    bond: [1, 1n],
    startUnbonding: [1, 1n],
    withdrawStake: [1, ADDRESS],
    rotateSigner: [1, bytes, "0x1234"],
    transferOperator: [1, ADDRESS],
    acceptOperator: [1],
    setEndpoint: [1, ["/dns/a"]],
    setModel: [1, "toy"],
    startEarning: [1],
    claimRewards: [1, "token", ADDRESS],
    setCommission: [1, 1],
    raiseCommission: [1],
    claimReward: [ADDRESS],
    withdraw: ["token", 1n, ADDRESS],
    createSubscription: [],
    setConsumer: [1, ADDRESS, { token: 1n, native: 1n }],
    transferSubscription: [1, ADDRESS],
    acceptSubscription: [1],
    fund: [1, "native", 1n],
    withdrawFunds: [1, "token", 1n, ADDRESS],
  }),
  ["verify", verify, [{ ...audit, worker: undefined }]],
  ["readTranscript", readTranscript, [audit]],
  ["watchLive", watchLive, [live]],
  [
    "startNetwork",
    startNetwork,
    [
      {
        program: "/nowhere",
        agents: 4,
        blockTimeSeconds: 1,
        liar: false,
        model: "m",
        directory: "d",
        onProgress,
        signal: ended,
      },
    ],
  ],
];

const HOSTILE: readonly unknown[] = [
  undefined,
  null,
  NaN,
  -1,
  1.5,
  Infinity,
  2 ** 60,
  "",
  "abc",
  "1",
  "\0",
  "\ud800",
  -1n,
  2n ** 300n,
  true,
  Symbol("s"),
  () => "f",
  {},
  [],
  [null],
  Object.create(null),
  new Date(Number.NaN),
];

describe("sdk: wrong arguments", () => {
  it("has a case for every function", () => {
    const names = FUNCTIONS.map(([name]) => name);
    const missing = [...Object.keys(conclave), ...Object.keys(actions)].filter((name) => !names.includes(name));
    assert.deepEqual(missing, ["actions", "account"]);
  });

  for (const [name, call, args] of FUNCTIONS)
    it(`${name}: rejects with a ConclaveError that names the field, whatever it is given`, async () => {
      const right = await failureOf(call, args);
      if (right !== null) assert.ok(right instanceof ConclaveError && !isAboutArguments(right), inspect(right));
      for (const path of pathsOf(args))
        for (const value of HOSTILE) {
          const before = asked;
          const error = await failureOf(call, replaced(args, path, value) as readonly unknown[]);
          const place = `${name} with ${path.join(".")} = ${inspect(value)}`;
          if (error === null) continue;
          assert.ok(error instanceof ConclaveError, `${place}: ${inspect(error)}`);
          if (!isAboutArguments(error)) continue;
          assert.match(error.field ?? "", /^\w+$/, `${place}: ${error.message}`);
          assert.ok(error.message.includes(error.field ?? "?"), `${place}: ${error.message}`);
          assert.ok(error.hint.length > 0);
          assert.equal(asked, before, `${place}: the node was asked, although ${error.message}`);
        }
    });

  it("says of a source what it gave in place of bytes", async () => {
    const store = storeOf({ get: async () => "bytes" as unknown as Uint8Array });
    await assert.rejects(store.get(sha256(bytes)), { code: "NETWORK_FAILED", message: /gave "bytes", not bytes/ });
  });

  it("names the field, the value and what to give instead", async () => {
    for (const [error, field, message] of [
      [await failureOf(actions.bond, [1.5, 1n]), "agentId", "agentId = 1.5: give a whole number from 1 to "],
      [await failureOf(actions.bond, [1, 1.5]), "amount", "amount = 1.5: give a bigint of at most 128 bits"],
      [await failureOf(actions.bond, [1]), "amount", "amount = undefined: give a bigint"],
      [await failureOf(conclave.read, ["abc"]), "requestId", 'requestId = "abc": give a bigint'],
      [await failureOf(conclave.read, [-1n]), "requestId", "requestId = -1n: give a bigint"],
      [await failureOf(conclave.cancel, [Number.NaN]), "requestId", "requestId = NaN: give a bigint"],
      [await failureOf(conclave.follow, [1]), "requestId", "requestId = 1: give a bigint"],
      [
        await failureOf(conclave.quote, [{ ...terms, committeeSize: "7" }]),
        "committeeSize",
        'committeeSize = "7": give a whole number',
      ],
      [await failureOf(conclave.quote, [{ ...terms, fee: 5 }]), "fee", "fee = 5: give a bigint"],
      [await failureOf(conclave.ask, [{ ...question, sources: "https://example.org/" }]), "sources", "give a list"],
      [
        await failureOf(actions.withdraw, ["coins", 1n, ADDRESS]),
        "currency",
        'currency = "coins": give one of token, native',
      ],
      [
        await failureOf(createConclave, [{ publicClient }]),
        "deployment",
        "deployment = undefined: give the deployment on this chain",
      ],
      [
        await failureOf(createConclave, [{ ...config, deployment: { ...deployment, oracle: "0x12" } }]),
        "oracle",
        'oracle = "0x12": give an address',
      ],
    ] as const) {
      assert.ok(error instanceof ConclaveError, inspect(error));
      assert.equal(error.field, field);
      assert.ok(error.message.includes(message), error.message);
    }
  });
});

function isAboutArguments({ code }: ConclaveError): boolean {
  return code === "USAGE" || code === "TERMS_INVALID" || code === "PROTOCOL_UNKNOWN";
}

function onProgress(): void {
  // Nothing comes so far.
}

function conclaveCalls(
  calls: Readonly<Record<Exclude<keyof Conclave, "actions">, readonly unknown[]>>,
): typeof FUNCTIONS {
  return Object.entries(calls).map(([name, args]) => [name, conclave[name as keyof typeof calls] as Call, args]);
}

function actionCalls(
  calls: Readonly<Record<Exclude<keyof typeof actions, "account">, readonly unknown[]>>,
): typeof FUNCTIONS {
  return Object.entries(calls).map(([name, args]) => [name, actions[name as keyof typeof calls] as Call, args]);
}

/** What the call throws, rejects with or ends its stream with; null if it does what it was asked for. */
async function failureOf(call: Call, args: readonly unknown[]): Promise<unknown> {
  try {
    const answer: unknown = await call(...(args as never[]));
    if (typeof answer === "object" && answer !== null && "next" in answer) await (answer as AsyncGenerator).next();
    return null;
  } catch (error) {
    return error;
  }
}

type Path = readonly (string | number)[];

/** The places of all arguments, and of what plain objects and lists in them hold. */
function pathsOf(value: unknown, above: Path = []): readonly Path[] {
  const isPlain =
    Array.isArray(value) ||
    (value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype);
  if (!isPlain || value === publicClient || value === walletClient) return [];
  return Object.entries(value as object).flatMap(([key, one]) => {
    const path = [...above, Array.isArray(value) ? Number(key) : key];
    return [path, ...pathsOf(one, path)];
  });
}

function replaced(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...(value as readonly unknown[])] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}
