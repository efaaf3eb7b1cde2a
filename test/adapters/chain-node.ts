// The viem adapter on a local chain behind a proxy that can be stopped and can misbehave.
import { receiptOf } from "../../agents/adapters/chain/receipt.ts";
import { codesOf } from "../../agents/core/encoding/words.ts";
import { once } from "node:events";
import { Agent, createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

import {
  createTestClient,
  createWalletClient,
  defineChain,
  http,
  parseEventLogs,
  publicActions,
  type Abi,
  type LocalAccount,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { decisionOracleAbi } from "@conclave/contracts/abi";
import { createOperatorActions } from "../../agents/adapters/chain/operator.ts";
import { provePossession } from "../../agents/adapters/chain/possession.ts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { createChainWriter } from "../../agents/adapters/chain/writer.ts";
import { readChainTerms } from "../../agents/adapters/chain/terms.ts";
import { keysFromPrivateKey, type Keys } from "../../agents/adapters/keystore/keys.ts";
import { UNBOUNDED, type OperatorActions } from "../../agents/ports/chain.ts";
import { keccak256, utf8, hexToBytes } from "../../agents/core/encoding/bytes.ts";
import type { Address, Hex, Ppm, RequestId } from "../../agents/core/types.ts";
import { loadArtifacts } from "../../agents/adapters/artifacts/artifacts.ts";
import { deployRecorded } from "../../devnet/recorded-deployment.ts";
import { MIN_UNBONDING_SECONDS, type Deployment } from "../../scripts/deploy/settings.ts";
import { FREE } from "../../scripts/deploy/prices.ts";
import { startLocalChain, type LocalChain } from "../../devnet/local-chain.ts";
import type { ChainHarness } from "./chain-questions.ts";

export const testKeys = makeKeys(13);
export const ONE = 10n ** 18n;

/** Makes the same keys again each time. */
export function makeKeys(count: number): readonly Keys[] {
  return Array.from({ length: count }, (_, index) => keysFromPrivateKey(hexToBytes(keccak256(utf8(`agent ${index}`)))));
}

export interface RpcCall {
  readonly method: string;
  readonly params: readonly unknown[];
}

/** What the proxy does with a call: null lets it pass; "drop" passes it on and then closes the connection; "leaveOutFirst" leaves out the first answer of a batch. */
export type Intercept = (
  call: RpcCall,
) => null | "drop" | "leaveOutFirst" | { readonly error: { readonly code: number; readonly message: string } };

export interface Proxy {
  readonly url: string;
  intercept: Intercept;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface NodeHarness extends ChainHarness {
  readonly chain: LocalChain;
  readonly proxy: Proxy;
  readonly deployment: Deployment;
  readonly accounts: readonly LocalAccount[];
  /** Options of every reader, writer and operator, through the proxy. */
  readonly options: {
    readonly rpcUrl: string;
    readonly chainId: number;
    readonly oracle: Address;
    readonly registry: Address;
  };
  /** What the account of this number does, through the proxy. */
  operator(index: number): Promise<OperatorActions>;
  /** Gives an account tokens. */
  fund(account: Address, amount: bigint): Promise<void>;
  /** Client that talks to the node without the proxy. */
  readonly client: ReturnType<typeof createClient>;
  /** Sends a transaction of account 0 and waits for it. */
  /** Resolves with the transaction's hash. */
  execute(address: Address, abi: Abi, functionName: string, args: readonly unknown[], gas?: bigint): Promise<Hex>;
  deployContract(artifact: string, args: readonly unknown[]): Promise<{ readonly address: Address; readonly abi: Abi }>;
}

/** Long enough for several attempts one after the other: a seed can be proven in its epoch and the next one. */
const EPOCH_BLOCKS = 128;
const SUBSCRIPTION = 1;
const CONSUMER_ACCEPT = 0;
const CONSUMER_REVERT = 1;

/** @param agents the keys of the registered agents, and the stake of each */
export async function createNodeHarness(
  agents: { readonly keys: readonly Keys[]; readonly stake: bigint } = { keys: testKeys, stake: ONE },
): Promise<NodeHarness> {
  const chain = await startLocalChain();
  try {
    return await setUp(chain, agents);
  } catch (error) {
    await chain.stop();
    throw error;
  }
}

type Agents = NonNullable<Parameters<typeof createNodeHarness>[0]>;

async function setUp(chain: LocalChain, agents: Agents): Promise<NodeHarness> {
  const accounts = chain.accounts.map(({ privateKey }) => privateKeyToAccount(privateKey));
  const account = accounts[0];
  if (account === undefined) throw new Error("the local chain has no account");
  const limits = {
    minStake: ONE,
    maxStake: 16n * ONE,
    unbondingDelaySeconds: MIN_UNBONDING_SECONDS,
    epochBlocks: EPOCH_BLOCKS,
  };
  const deployment = await deployRecorded({
    rpcUrl: chain.rpcUrl,
    account,
    token: null,
    ...limits,
    prices: FREE,
    buildProfile: "default",
  });
  const proxy = createProxy(chain.rpcUrl);
  await proxy.start();
  const { chainId, oracle, registry } = deployment;
  const options = { rpcUrl: proxy.url, chainId, oracle, registry };
  const client = createClient(chain, account);
  const tools = toolsOf(client, account);
  let reorganizations = 0;

  const [token] = await loadArtifacts(["devnet/contracts/TestToken.sol:TestToken"], "default");
  if (token === undefined) throw new Error("there is no TestToken");
  const consumer = await tools.deployContract("test/support/contracts/HostileConsumer.sol:HostileConsumer", [oracle]);
  await tools.execute(deployment.token, token.abi, "mint", [account.address, 10_000n * ONE]);
  await registerAgents(options, account, agents);
  // Draws see the new agents from the next epoch on.
  await client.mine({ blocks: EPOCH_BLOCKS });
  await tools.execute(deployment.token, token.abi, "approve", [oracle, 1_000n * ONE]);
  const run = (functionName: string, args: readonly unknown[]): Promise<Hex> =>
    tools.execute(oracle, decisionOracleAbi, functionName, args);
  await run("createSubscription", []);
  await run("setConsumer", [SUBSCRIPTION, consumer.address, UNBOUNDED, UNBOUNDED]);
  await run("fund", [SUBSCRIPTION, 1_000n * ONE]);

  const readerOf = madeOnce((finalityDepth: number) =>
    createChainReader({ ...options, finalityDepth, pollIntervalMs: 25 }),
  );
  return {
    chain,
    proxy,
    deployment,
    accounts,
    options,
    client,
    ...tools,
    keys: agents.keys,
    operator: async (index) => {
      const own = accounts[index];
      if (own === undefined) throw new Error(`the local chain has no account ${index}`);
      return createOperatorActions({ ...options, account: own, receiptPollMs: 20 });
    },
    fund: async (to, amount) => {
      await tools.execute(deployment.token, token.abi, "mint", [to, amount]);
    },
    reader: ({ finalityDepth = 0 } = {}) => readerOf(finalityDepth),
    writer: madeOnce((index) =>
      createChainWriter({ ...options, account: accounts[index + 1] ?? account, receiptPollMs: 20 }),
    ),
    ask: async (terms, question) => {
      const hash = await tools.execute(consumer.address, consumer.abi, "ask", [
        SUBSCRIPTION,
        { ...terms, ...codesOf(terms) },
        `0x${Buffer.from(question).toString("hex")}`,
      ]);
      return requestedIn(client, hash);
    },
    appeal: async (request, last) => {
      const operator = await createOperatorActions({ ...options, account, receiptPollMs: 20 });
      return operator.appeal(request, last);
    },
    setConsumer: async (accepts) => {
      const mode = accepts ? CONSUMER_ACCEPT : CONSUMER_REVERT;
      await tools.execute(consumer.address, consumer.abi, "setMode", [mode]);
    },
    mine: (blocks) => client.mine({ blocks }),
    reorganize: async (blocks) => {
      await client.request({ method: "anvil_rollback", params: [blocks] } as never);
      // The same blocks at the same time would be the same again, and a rollback takes back the time, too.
      reorganizations += 1;
      await client.increaseTime({ seconds: reorganizations });
      await client.mine({ blocks });
    },
    passTime: async (seconds) => {
      await client.increaseTime({ seconds });
      await client.mine({ blocks: 1 });
    },
    services: async (agentId) => (await (await readChainTerms(options)).service(agentId)).services,
    setReachable: (reachable) => (reachable ? proxy.start() : proxy.stop()),
    stop: async () => {
      await proxy.stop();
      await chain.stop();
    },
  };
}

/** Makes one thing for each key. */
function madeOnce<Key, Thing>(make: (key: Key) => Thing): (key: Key) => Thing {
  const made = new Map<Key, Thing>();
  return (key) => {
    const thing = made.get(key) ?? make(key);
    made.set(key, thing);
    return thing;
  };
}

/** The id of the request that a transaction made. */
export async function requestedIn(client: NodeHarness["client"], hash: Hex): Promise<RequestId> {
  const { logs } = await client.getTransactionReceipt({ hash });
  const [event] = parseEventLogs({ abi: decisionOracleAbi, eventName: "Requested", logs });
  if (event === undefined) throw new Error("nothing was requested");
  return event.args.requestId as RequestId;
}

function createClient({ rpcUrl, chainId }: LocalChain, account: LocalAccount) {
  const nativeCurrency = { name: "coin", symbol: "coin", decimals: 18 };
  const chain = defineChain({ id: chainId, name: "local", nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  return createTestClient({
    mode: "anvil",
    chain,
    account,
    transport: http(rpcUrl),
    pollingInterval: 20,
    cacheTime: 0,
  }).extend(publicActions);
}

function toolsOf(
  client: ReturnType<typeof createClient>,
  account: LocalAccount,
): Pick<NodeHarness, "execute" | "deployContract"> {
  const wallet = createWalletClient({ chain: client.chain, account, transport: http() });
  return {
    execute: async (address, abi, functionName, args, gas) => {
      const hash = await wallet.writeContract({
        address,
        abi,
        functionName,
        args,
        ...(gas === undefined ? {} : { gas }),
      });
      const { status } = await receiptOf(client, hash);
      if (status !== "success") throw new Error(`${functionName} reverted`);
      return hash;
    },
    deployContract: async (name, args) => {
      const [artifact] = await loadArtifacts([name], "default");
      if (artifact === undefined) throw new Error(`there is no ${name}`);
      const { contractAddress } = await receiptOf(client, await wallet.deployContract({ ...artifact, args }));
      return { address: (contractAddress ?? "0x").toLowerCase() as Address, abi: artifact.abi };
    },
  };
}

async function registerAgents(
  options: NodeHarness["options"],
  account: LocalAccount,
  { keys, stake }: Agents,
): Promise<void> {
  const operator = await createOperatorActions({ ...options, account, receiptPollMs: 20 });
  for (const signer of keys) {
    const possession = provePossession(signer, { ...options, operator: operator.account });
    const endpoint = ["/ip4/127.0.0.1/tcp/4001", "/ip4/127.0.0.1/tcp/4002"];
    const { publicKey } = signer;
    const commission = 0 as Ppm;
    await operator.register({ publicKey, possession, model: "test", endpoint, stake, commission });
  }
}

/** Proxy that keeps its port when it is stopped, so that clients find it again. */
function createProxy(target: string): Proxy {
  const agent = new Agent({ keepAlive: true });
  let server: Server | null = null;
  let port = 0;
  const proxy: Proxy = {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    intercept: () => null,
    start: async () => {
      server = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on("data", (chunk: Buffer) => chunks.push(chunk));
        request.on("end", () => {
          void forward(Buffer.concat(chunks).toString()).then(
            (answer) =>
              answer === null ? response.destroy() : response.setHeader("content-type", "application/json").end(answer),
            () => response.destroy(),
          );
        });
      });
      await new Promise<void>((resolve) => server?.listen(port, "127.0.0.1", resolve));
      ({ port } = server.address() as AddressInfo);
    },
    stop: async () => {
      agent.destroy();
      const closing = server;
      server = null;
      if (closing === null) return;
      const closed = new Promise((resolve) => closing.close(resolve));
      closing.closeAllConnections();
      await closed;
    },
  };
  const forward = async (body: string): Promise<string | null> => {
    const call = JSON.parse(body) as RpcCall & { readonly id: number };
    const decision = proxy.intercept(call);
    if (typeof decision === "object" && decision !== null)
      return JSON.stringify({ jsonrpc: "2.0", id: call.id, ...decision });
    // A tenth of the work of `fetch`: it would be most of what these tests do.
    const sent = httpRequest(target, { method: "POST", headers: { "content-type": "application/json" }, agent });
    sent.end(body);
    const [incoming] = (await once(sent, "response")) as [IncomingMessage];
    const answer = await text(incoming);
    if (decision === "leaveOutFirst") return JSON.stringify((JSON.parse(answer) as unknown[]).slice(1));
    return decision === "drop" ? null : answer;
  };
  return proxy;
}
