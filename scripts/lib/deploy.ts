// Deploys the system: token (local chains only), access manager, registry, oracle, slasher, an example consumer.
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  getContractAddress,
  http,
  toFunctionSelector,
} from "viem";
import type {
  Account,
  Chain,
  Hex,
  HttpTransport,
  LocalAccount,
  PublicClient,
  TransactionReceipt,
  WalletClient,
} from "viem";

import { protocols } from "../../agents/core/protocols/index.ts";
import type { Address } from "../../agents/core/types.ts";
import { loadArtifacts, type Artifact, type BuildProfile } from "./artifacts.ts";

export interface DeployOptions {
  readonly rpcUrl: string;
  /** Deploys and pays the gas. */
  readonly account: LocalAccount;
  /** Stake and fee token; null deploys a test token that anybody can mint. */
  readonly token: Address | null;
  /** Administrator of the access manager in the end; the deployer if not given. */
  readonly admin?: Address;
  /** Gets what is slashed, less the reporter's reward; the administrator if not given. */
  readonly treasury?: Address;
  readonly minStake: bigint;
  /** At most 16 times `minStake`. */
  readonly maxStake: bigint;
  /** At least `MIN_UNBONDING_SECONDS`. */
  readonly unbondingDelaySeconds: number;
  /** Draws see the registry as it was when the current epoch of so many blocks began; 4 to 7200. */
  readonly epochBlocks: number;
  /** Smallest fee of a request; 0 if not given. */
  readonly minFee?: bigint;
  readonly buildProfile: BuildProfile;
  /** Deploys the example consumer `PolicyDesk`, owned by the deployer. */
  readonly example?: ExampleSettings;
}

/** As `PolicyDesk.Settings`; `duration` in seconds. */
export interface ExampleSettings {
  readonly fee: bigint;
  readonly duration: number;
  readonly callbackGasLimit: number;
  readonly committeeSize: number;
  readonly assurance: number;
  readonly protocol: number;
}

/** Plain data, as kept in deployments/<chainId>.json. */
export interface Deployment {
  readonly chainId: number;
  /** Scans of events begin here. */
  readonly deploymentBlock: number;
  readonly token: Address;
  readonly accessManager: Address;
  readonly registry: Address;
  readonly oracle: Address;
  readonly slasher: Address;
  readonly example: Address | null;
}

interface Deployer {
  readonly reader: PublicClient<HttpTransport, Chain>;
  readonly wallet: WalletClient<HttpTransport, Chain, Account>;
}

const names = {
  token: "contracts/mocks/TestToken.sol:TestToken",
  manager: "contracts/ConclaveAccessManager.sol:ConclaveAccessManager",
  registry: "contracts/AgentRegistry.sol:AgentRegistry",
  oracle: "contracts/DecisionOracle.sol:DecisionOracle",
  slasher: "contracts/Slasher.sol:Slasher",
  example: "contracts/consumers/examples/PolicyDesk.sol:PolicyDesk",
} as const;

/** As in contracts/types/Limits.sol: the longest request, and a week for evidence. */
export const MIN_UNBONDING_SECONDS = 14 * 86_400;

const ADMIN_ROLE = 0n;
/** May stop new requests. */
const PAUSER_ROLE = 2n;
const POLLING_MS = 100;

export async function deploy(options: DeployOptions): Promise<Deployment> {
  const { account, token } = options;
  const [tokenArtifact, managerArtifact, registryArtifact, oracleArtifact, slasherArtifact, exampleArtifact] =
    (await loadArtifacts(Object.values(names), options.buildProfile)) as [
      Artifact,
      Artifact,
      Artifact,
      Artifact,
      Artifact,
      Artifact,
    ];
  const deployer = await createDeployer(options.rpcUrl, account);
  const { chain } = deployer.reader;

  const tokenAddress = token ?? (await create(deployer, tokenArtifact, [])).address;
  const manager = await create(deployer, managerArtifact, [account.address]);
  const bound = await predict(deployer);
  const registry = await create(deployer, registryArtifact, [registryTerms(options, tokenAddress, bound)]);
  const oracleArgs = [manager.address, registry.address, tokenAddress, protocolBitmap(), options.minFee ?? 0n];
  const oracle = await create(deployer, oracleArtifact, oracleArgs);
  requireSame("oracle", bound.oracle, oracle.address);
  const slasher = await create(deployer, slasherArtifact, [registry.address]);
  requireSame("slasher", bound.slasher, slasher.address);

  const administer = (functionName: string, args: readonly unknown[]): Promise<void> =>
    execute(deployer, { address: manager.address, abi: managerArtifact.abi, functionName, args });
  const pausing = ["pauseRequests()", "unpauseRequests()"].map((signature) => toFunctionSelector(signature));
  await administer("setTargetFunctionRole", [oracle.address, pausing, PAUSER_ROLE]);
  await administer("grantRole", [PAUSER_ROLE, options.admin ?? account.address, 0]);
  if (options.admin !== undefined && options.admin !== account.address.toLowerCase()) {
    await administer("grantRole", [ADMIN_ROLE, options.admin, 0]);
    await administer("renounceRole", [ADMIN_ROLE, account.address]);
  }
  const example =
    options.example === undefined
      ? null
      : (await create(deployer, exampleArtifact, [oracle.address, account.address, options.example])).address;
  return {
    chainId: chain.id,
    deploymentBlock: Number(registry.blockNumber),
    token: tokenAddress,
    accessManager: manager.address,
    registry: registry.address,
    oracle: oracle.address,
    slasher: slasher.address,
    example,
  };
}

interface Bound {
  readonly oracle: Address;
  readonly slasher: Address;
}

/** Where the oracle and the slasher will be if nothing but the registry is deployed before them. */
async function predict({ reader, wallet }: Deployer): Promise<Bound> {
  const from = wallet.account.address;
  const nonce = BigInt(await reader.getTransactionCount({ address: from, blockTag: "pending" }));
  const addressAt = (offset: bigint): Address =>
    getContractAddress({ from, nonce: nonce + offset }).toLowerCase() as Address;
  return { oracle: addressAt(1n), slasher: addressAt(2n) };
}

/** The registry is bound to these addresses for ever: a deployment that missed them is worthless, so stop at once. */
function requireSame(name: string, bound: Address, found: Address): void {
  if (bound === found) return;
  throw new Error(
    `Deploy the ${name}: it is at ${found}, but the registry is bound to ${bound}; deploy again, and send nothing else from the account meanwhile`,
  );
}

function registryTerms(options: DeployOptions, stakeToken: Address, { oracle, slasher }: Bound) {
  const { account, minStake, maxStake, unbondingDelaySeconds: unbondingDelay, epochBlocks } = options;
  const treasury = options.treasury ?? options.admin ?? account.address;
  return { stakeToken, minStake, maxStake, unbondingDelay, epochBlocks, oracle, slasher, treasury };
}

/** Bit i set = protocol i can be asked for. */
function protocolBitmap(): bigint {
  return protocols.reduce((bits, { code }) => bits | (1n << BigInt(code)), 0n);
}

async function createDeployer(rpcUrl: string, account: LocalAccount): Promise<Deployer> {
  const transport = http(rpcUrl);
  const id = await createPublicClient({ transport }).getChainId();
  const nativeCurrency = { name: "coin", symbol: "coin", decimals: 18 };
  const chain = defineChain({ id, name: `chain ${id}`, nativeCurrency, rpcUrls: { default: { http: [rpcUrl] } } });
  return {
    reader: createPublicClient({ chain, transport, pollingInterval: POLLING_MS, cacheTime: 0 }),
    wallet: createWalletClient({ chain, transport, account }),
  };
}

async function create(
  deployer: Deployer,
  { abi, bytecode }: Artifact,
  args: readonly unknown[],
): Promise<{ readonly address: Address; readonly blockNumber: bigint }> {
  const hash = await deployer.wallet.deployContract({ abi, bytecode, args });
  const { contractAddress, blockNumber } = await mined(deployer, hash);
  if (contractAddress === null || contractAddress === undefined)
    throw new Error(`Deploy: transaction ${hash} created no contract`);
  return { address: contractAddress.toLowerCase() as Address, blockNumber };
}

async function execute(
  { reader, wallet }: Deployer,
  call: {
    readonly address: Address;
    readonly abi: Artifact["abi"];
    readonly functionName: string;
    readonly args: readonly unknown[];
  },
): Promise<void> {
  await mined({ reader, wallet }, await wallet.writeContract(call));
}

async function mined({ reader }: Deployer, hash: Hex): Promise<TransactionReceipt> {
  const receipt = await reader.waitForTransactionReceipt({ hash });
  if (receipt.status !== "success") throw new Error(`Deploy: transaction ${hash} reverted`);
  return receipt;
}
