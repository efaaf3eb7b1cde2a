// Deploys the system by the modules in ignition/modules: token (local chains only), access manager, registry, oracle
// with its settlement, slasher, example consumer.
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  DeploymentResultType,
  deploy as runIgnition,
  type ArtifactResolver,
  type Artifact as IgnitionArtifact,
  type DeploymentResult,
} from "@nomicfoundation/ignition-core";
import { createPublicClient, getContractAddress, http, type PublicClient } from "viem";
import { z } from "zod";

import { ConclaveError } from "../../agents/core/errors.ts";
import type { Address } from "../../agents/core/types.ts";
import conclaveModule from "../../ignition/modules/Conclave.ts";
import handoverModule from "../../ignition/modules/Handover.ts";
import policyDeskModule from "../../ignition/modules/PolicyDesk.ts";
import testTokenModule from "../../ignition/modules/TestToken.ts";
import { loadArtifacts, type Artifact, type BuildProfile } from "../../agents/adapters/artifacts/artifacts.ts";
import { parseJson } from "../../agents/adapters/json.ts";
import { LOCAL_CHAINS } from "../../agents/adapters/chain/beacon.ts";
import { noteSigned, recover } from "./recovery.ts";
import { placeOf, stepsOf, type Part, type Step } from "./plan.ts";
import { contracts, protocolBitmap, type DeployOptions, type Deployment, type PlanOptions } from "./settings.ts";
import { signingProvider, type Sent } from "./signing-provider.ts";

/** The transactions of a deployment, and its result if all of them succeed. */
export interface Plan {
  readonly parts: readonly Part[];
  readonly steps: readonly Step[];
  readonly deployment: Deployment;
}

/** Start of an unfinished deployment: its addresses follow from the nonce. */
interface Start {
  readonly deployer: Address;
  readonly nonce: number;
  readonly block: number;
}

const startSchema = z.object({
  deployer: z
    .string()
    .regex(/^0x[0-9a-f]{40}$/)
    .transform((text) => text as Address),
  nonce: z.int().nonnegative(),
  block: z.int().nonnegative(),
});

const START_FILE = "start.json";
const CONFIRMATIONS = 5;
const POLLING_MS = 4_000;
const LOCAL_POLLING_MS = 50;

/** Plans a deployment: it reads the chain and sends nothing. */
export async function planDeployment(options: PlanOptions): Promise<Plan> {
  const client = createPublicClient({ transport: http(options.rpcUrl) });
  return planFrom(options, await client.getChainId(), (await readStart(options)) ?? (await startNow(options, client)));
}

/**
 * Deploys the system. Throws DEPLOYMENT_UNFINISHED; with `directory`, the same call continues where this one stopped.
 */
export async function deploy(options: DeployOptions): Promise<Deployment> {
  const { account, directory, rpcUrl, progress = () => undefined } = options;
  const client = createPublicClient({ transport: http(rpcUrl) });
  const chainId = await client.getChainId();
  const start = (await readStart(options)) ?? (await startNow(options, client));
  const plan = planFrom(options, chainId, start);
  const artifacts = await openArtifacts(options.buildProfile);
  if (directory !== undefined) {
    await mkdir(directory, { recursive: true });
    // Written whole or not at all: no other place holds the nonce from which all addresses follow.
    const path = join(directory, START_FILE);
    await writeFile(`${path}.part`, `${JSON.stringify(start)}\n`);
    await rename(`${path}.part`, path);
  }
  const provider = signingProvider(rpcUrl, chainId, account, {
    beforeSigning: guardOf(plan.steps, start.nonce, artifacts, progress),
    beforeSending: async (nonce, raw) => {
      if (directory !== undefined) await noteSigned(directory, nonce, raw);
    },
  });
  const local = LOCAL_CHAINS.includes(chainId);
  const config = {
    requiredConfirmations: local ? 1 : CONFIRMATIONS,
    blockPollingInterval: local ? LOCAL_POLLING_MS : POLLING_MS,
  };
  const artifactResolver: ArtifactResolver = {
    loadArtifact: (name) => Promise.resolve(forIgnition(artifacts.get(name) ?? missing(name))),
    // Verification inputs are written apart, once for all contracts.
    getBuildInfo: () => Promise.resolve(undefined),
  };
  const common = { config, artifactResolver, provider, accounts: [account.address] };
  for (const part of plan.parts) requireSuccess(await runPart(part, directory, common), part === plan.parts.at(-1));
  return plan.deployment;
}

type Common = Pick<Parameters<typeof runIgnition>[0], "config" | "artifactResolver" | "provider" | "accounts">;

async function runPart(part: Part, directory: string | undefined, common: Common): Promise<DeploymentResult> {
  const { module, parameters } = part;
  const target = { ignitionModule: module, deploymentParameters: { [module.id]: parameters } };
  for (;;) {
    try {
      return await runIgnition({
        ...common,
        ...target,
        ...(directory === undefined ? {} : { deploymentDir: directory }),
      });
    } catch (error) {
      const { provider, artifactResolver } = common;
      if (directory !== undefined && (await recover(error, directory, provider, artifactResolver))) continue;
      // These are Ignition's own refusals; any other error is the node's or ours.
      throw error instanceof Error && error.name === "HardhatError" ? unfinished(error.message, error) : error;
    }
  }
}

function planFrom(options: PlanOptions, chainId: number, { deployer, nonce: first, block }: Start): Plan {
  const parts: Part[] = [];
  const steps: Step[] = [];
  let nonce = first;
  const add = (part: Part): ReadonlyMap<string, Address> => {
    const { addresses, nextNonce } = placeOf(part.module, deployer, nonce);
    parts.push(part);
    steps.push(...stepsOf(part, deployer, nonce));
    nonce = nextNonce;
    return addresses;
  };
  const token = options.token ?? found(add({ module: testTokenModule, parameters: {} }), "TestToken");
  const { addresses: placed } = placeOf(conclaveModule, deployer, nonce);
  const [accessManager, registry, oracle, slasher] = [
    found(placed, "ConclaveAccessManager"),
    found(placed, "AgentRegistry"),
    found(placed, "DecisionOracle"),
    found(placed, "Slasher"),
  ];
  const admin = options.admin ?? deployer;
  const treasury = options.treasury ?? admin;
  const { minStake, maxStake, unbondingDelaySeconds: unbondingDelay, epochBlocks, prices, example } = options;
  const terms = { minStake, maxStake, unbondingDelay, epochBlocks, protocols: protocolBitmap() };
  const priced = { tokenPrices: { ...prices.token }, nativePrices: { ...prices.native } };
  add({ module: conclaveModule, parameters: { ...terms, ...priced, token, oracle, slasher, treasury, admin } });
  const delay = options.governanceDelaySeconds ?? 0;
  if (admin !== deployer) add({ module: handoverModule, parameters: { manager: accessManager, admin, delay } });
  const desk = example === undefined ? null : add({ module: policyDeskModule, parameters: { ...example, oracle } });
  const settlement = getContractAddress({ from: oracle, nonce: 1n }).toLowerCase() as Address;
  const addresses = { token, accessManager, registry, oracle, settlement, slasher };
  const deployment = {
    chainId,
    deploymentBlock: block,
    ...addresses,
    example: desk === null ? null : found(desk, "PolicyDesk"),
    buildProfile: options.buildProfile,
  };
  return { parts, steps, deployment };
}

/**
 * Returns a guard that refuses a changed nonce: a foreign transaction with the same key would move every later
 * address, and bind the registry to nothing.
 */
function guardOf(
  steps: readonly Step[],
  first: number,
  artifacts: ReadonlyMap<string, Artifact>,
  progress: (line: string) => void,
): (sent: Sent) => void {
  return ({ to, data, nonce }) => {
    const step = steps[nonce - first];
    if (to !== null) return progress(`call ${step?.contract ?? to} ${step?.functionName ?? ""}`.trimEnd());
    const expected = step?.action === "create" ? artifacts.get(step.contract)?.bytecode : undefined;
    if (step !== undefined && expected !== undefined && data.startsWith(expected))
      return progress(`create ${step.contract} at ${step.address}`);
    throw unfinished(
      `the account has sent something else since the deployment began (nonce ${nonce}), so the addresses that contracts are bound to are lost`,
    );
  };
}

/**
 * Throws unless the module succeeded. Ignition judges the whole journal: what a later module has begun makes an
 * earlier one unsuccessful, without a failure.
 */
function requireSuccess(result: DeploymentResult, isLast: boolean): void {
  switch (result.type) {
    case DeploymentResultType.SUCCESSFUL_DEPLOYMENT:
      return;
    case DeploymentResultType.EXECUTION_ERROR: {
      const failed = result.failed.map(({ futureId, error }) => `${futureId}: ${error}`);
      const late = result.timedOut.map(({ futureId }) => `${futureId}: no receipt in time`);
      const begun = isLast ? result.started.map((futureId) => `${futureId}: not finished`) : [];
      const reasons = [...failed, ...late, ...begun];
      if (reasons.length === 0) return;
      throw unfinished(reasons.join("; "));
    }
    case DeploymentResultType.VALIDATION_ERROR:
    case DeploymentResultType.RECONCILIATION_ERROR:
    case DeploymentResultType.PREVIOUS_RUN_ERROR:
      throw unfinished(
        Object.entries(result.errors)
          .map(([future, errors]) => `${future}: ${errors.join(", ")}`)
          .join("; "),
      );
  }
}

function unfinished(reason: string, cause?: unknown): ConclaveError {
  return new ConclaveError("DEPLOYMENT_UNFINISHED", `Deploy the contracts: ${reason}`, {}, cause);
}

/** Returns the first nonce of the unfinished deployment in the directory; null without one. */
async function readStart({ directory, account }: PlanOptions): Promise<Start | null> {
  if (directory === undefined) return null;
  const text = await readFile(join(directory, START_FILE), "utf8").catch(() => null);
  if (text === null) return null;
  const start = startSchema.safeParse(parseJson(text)).data;
  if (start === undefined)
    throw unfinished(
      `${join(directory, START_FILE)} is not what the first run wrote; restore it, or forget that run with --reset`,
    );
  if (start.deployer === account.address.toLowerCase()) return start;
  throw unfinished(`it was begun by ${start.deployer} and cannot go on with ${account.address}`);
}

async function startNow({ account }: PlanOptions, client: PublicClient): Promise<Start> {
  const [nonce, block] = await Promise.all([
    client.getTransactionCount({ address: account.address, blockTag: "pending" }),
    client.getBlockNumber(),
  ]);
  return { deployer: account.address.toLowerCase() as Address, nonce, block: Number(block) };
}

async function openArtifacts(profile: BuildProfile): Promise<ReadonlyMap<string, Artifact>> {
  const loaded = await loadArtifacts(Object.values(contracts), profile);
  return new Map(loaded.map((artifact) => [artifact.contractName, artifact]));
}

/** Returns the artifact for Ignition. No contract of ours is linked to a deployed library. */
function forIgnition({ immutableReferences: _, ...artifact }: Artifact): IgnitionArtifact {
  return { ...artifact, linkReferences: {}, deployedLinkReferences: {} };
}

function found(addresses: ReadonlyMap<string, Address>, name: string): Address {
  return addresses.get(name) ?? missing(name);
}

function missing(name: string): never {
  throw new Error(`Find ${name}: no module deploys it`);
}
