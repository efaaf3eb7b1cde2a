// What a deployment is asked for, and what it returns. Apart from deployment.ts, because Ignition takes a second to load.
import type { LocalAccount } from "viem";
import type { BuildProfile } from "../../agents/adapters/artifacts/artifacts.ts";
import { protocols } from "../../agents/core/protocols/index.ts";
import type { Address } from "../../agents/core/types.ts";
import type { Prices } from "./prices.ts";

export interface PlanOptions {
  readonly rpcUrl: string;
  /** Deploys and pays the gas. */
  readonly account: Pick<LocalAccount, "address">;
  /** Stake and fee token; null deploys a test token that anybody can mint. */
  readonly token: Address | null;
  /** Administrator of the access manager in the end; the deployer if absent. */
  readonly admin?: Address;
  /** Delay in seconds for acts of an administrator other than the deployer, e.g. new prices; 0 if absent. */
  readonly governanceDelaySeconds?: number;
  /** Gets what is slashed, minus the reporter's reward; the administrator if absent. */
  readonly treasury?: Address;
  readonly minStake: bigint;
  /** At most 16 times `minStake`. */
  readonly maxStake: bigint;
  /** At least `MIN_UNBONDING_SECONDS`. */
  readonly unbondingDelaySeconds: number;
  /** Length of an epoch in blocks, 25 to 7200. Draws see the registry as it was when the current epoch began. */
  readonly epochBlocks: number;
  readonly prices: Prices;
  readonly buildProfile: BuildProfile;
  /**
   * Folder of Ignition's journal, so that an interrupted deployment continues where it stopped; absent = nothing is
   * kept.
   */
  readonly directory?: string;
  /** Deploys the example consumer `PolicyDesk` and creates its subscription, `EXAMPLE_SUBSCRIPTION`; the deployer owns both. */
  readonly example?: ExampleSettings;
}

export interface DeployOptions extends PlanOptions {
  readonly account: LocalAccount;
  /** Prints a line for people before each transaction. */
  readonly progress?: (line: string) => void;
}

/** As `PolicyDesk.Settings`; `duration` in seconds. */
export interface ExampleSettings {
  readonly fee: bigint;
  readonly duration: number;
  readonly appeals: number;
  readonly retries: number;
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
  /** Deployed by the oracle. */
  readonly settlement: Address;
  readonly slasher: Address;
  readonly example: Address | null;
  /** Build profile of the contracts. */
  readonly buildProfile: BuildProfile;
}

/** The file of each contract that a module names. */
export const contracts: Readonly<Record<string, string>> = {
  TestToken: "devnet/contracts/TestToken.sol:TestToken",
  ConclaveAccessManager: "contracts/ConclaveAccessManager.sol:ConclaveAccessManager",
  AgentRegistry: "contracts/AgentRegistry.sol:AgentRegistry",
  DecisionOracle: "contracts/DecisionOracle.sol:DecisionOracle",
  Settlement: "contracts/Settlement.sol:Settlement",
  Slasher: "contracts/Slasher.sol:Slasher",
  PolicyDesk: "contracts/consumers/examples/PolicyDesk.sol:PolicyDesk",
};

/** `MIN_UNBONDING_DELAY` of contracts/types/Limits.sol: the longest epoch, the longest request, and a week for evidence. */
export const MIN_UNBONDING_SECONDS = 16 * 86_400;

/** Bit i set = protocol i can be asked for. */
export function protocolBitmap(): bigint {
  return protocols.reduce((bits, { code }) => bits | (1n << BigInt(code)), 0n);
}
