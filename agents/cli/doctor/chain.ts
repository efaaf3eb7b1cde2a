import { formatGwei } from "viem";
import { loadArtifacts, maskImmutables, type Artifact, type BuildProfile } from "../../adapters/artifacts/artifacts.ts";
import {
  createDeploymentReader,
  type Contracts,
  type DeploymentReader,
  type Holder,
  type Roles,
} from "../../adapters/chain/deployment.ts";
import { LOCAL_CHAINS } from "../../adapters/chain/beacon.ts";
import { originOf } from "../../adapters/chain/errors.ts";
import { readChainId, readChainTerms } from "../../adapters/chain/terms.ts";
import type { Address, Currency } from "../../core/types.ts";
import { formatAmount, formatDuration, unitOf } from "../shared/arguments.ts";
import { chainSource } from "../shared/chain-source.ts";
import type { CliHost } from "../shared/command.ts";
import type { AgentChainConfig, DeploymentFile } from "../shared/config.ts";
import { check, fail, ok, warn, type Check, type Finding } from "./checks.ts";
import { percent } from "../shared/output.ts";
import { wayOut } from "../shared/reasons.ts";
import { SMALLEST } from "../shared/smallest-terms.ts";

/** Source files from which the contracts are compiled. */
const files = {
  registry: "contracts/AgentRegistry.sol:AgentRegistry",
  oracle: "contracts/DecisionOracle.sol:DecisionOracle",
  settlement: "contracts/Settlement.sol:Settlement",
  slasher: "contracts/Slasher.sol:Slasher",
  accessManager: "contracts/ConclaveAccessManager.sol:ConclaveAccessManager",
} as const;

const MAX_DECIMALS = 36;
const LIMIT = "have the administrator limit it to a role";

/** Checks the chain in order, and leaves out what a failure makes impossible to check. */
export async function examineChain(
  chain: AgentChainConfig,
  file: DeploymentFile | null,
  profile: BuildProfile,
  host: CliHost,
  tell: (line: string) => void,
): Promise<readonly Check[]> {
  const served = await check("chain", async () => {
    const found = await readChainId(chain.rpcUrl, host.signal);
    const where = `${originOf(chain.rpcUrl)} serves chain ${found}`;
    return found === chain.chainId
      ? ok(where)
      : fail(
          `CHAIN_WRONG_ID: ${where}, but chain ${chain.chainId} is configured`,
          "correct the RPC URL or the chain id",
        );
  });
  if (served.level === "fail") return [served];
  const reader = createDeploymentReader(chain.rpcUrl, host.signal);
  const [registry, oracle] = [chain.registry.toLowerCase() as Address, chain.oracle.toLowerCase() as Address];
  const beacon = await examineRandomness(chain.chainId, reader);
  const present = [await exists("registry", registry, reader), await exists("oracle", oracle, reader)];
  present.push(await begun(chain.deploymentBlock, reader));
  if (present.some(({ level }) => level === "fail")) return [served, beacon, ...present];
  let contracts: Contracts | null = null;
  const located = await check("contracts", async () => {
    contracts = await reader.contracts(registry, oracle);
    const { settlement, slasher, accessManager } = contracts;
    const named = `settlement ${settlement}, slasher ${slasher}, access manager ${accessManager}`;
    return ok(`registry ${registry}, oracle ${oracle}, ${named}`);
  });
  if (contracts === null) return [served, beacon, located];
  return [
    served,
    beacon,
    located,
    ...(await compareStated(contracts, reader, file)),
    ...(await compareCode(contracts, profile, reader, tell)),
    await examineBindings(contracts, reader),
    ...(await examineRoles(contracts, BigInt(chain.deploymentBlock), reader)),
    await examineTokens(contracts, reader),
    ...(await examinePrices(contracts, chain, reader, host.signal)),
  ];
}

/** Checks that the chain has randomness to draw committees with. */
function examineRandomness(chainId: number, reader: DeploymentReader): Promise<Check> {
  return check("beacon", async () => {
    const flaw = await reader.beacon(chainId);
    if (flaw !== null) return fail(`CHAIN_NO_BEACON: ${flaw}`, wayOut.CHAIN_NO_BEACON);
    if (LOCAL_CHAINS.includes(chainId)) return ok(`chain ${chainId} is local: its node makes up prevrandao`);
    return ok("prevrandao differs from block to block");
  });
}

/** Checks that the deployment block exists, since scans begin there. */
function begun(deploymentBlock: number, reader: DeploymentReader): Promise<Check> {
  return check("deployment block", async () => {
    const head = await reader.head();
    if (BigInt(deploymentBlock) <= head) return ok(`${deploymentBlock}, the chain is at ${head}`);
    const problem = `deploymentBlock ${deploymentBlock} is to come: the chain is at ${head}`;
    return fail(problem, "correct it to the block that npm run deploy wrote, or wait until the node has synced");
  });
}

function exists(name: string, address: Address, reader: DeploymentReader): Promise<Check> {
  return check(name, async () => {
    if ((await reader.code(address)) !== "0x") return ok(`there is a contract at ${address}`);
    return fail(`CHAIN_NO_CONTRACT: there is no contract at ${address}`, "correct the address, or deploy first");
  });
}

/** Compares contracts that only the deployment file names with those that the deployed contracts use. */
async function compareStated(
  contracts: Contracts,
  reader: DeploymentReader,
  file: DeploymentFile | null,
): Promise<readonly Check[]> {
  const { settlement, slasher, accessManager } = contracts;
  const compare = (
    name: "settlement" | "slasher" | "accessManager" | "token",
    owner: string,
    found: Address,
  ): Finding => {
    const stated = file?.[name]?.toLowerCase();
    if (stated === undefined || stated === found) return ok(`the ${owner}'s ${name} is that of the deployment file`);
    const difference = `the ${owner}'s ${name} is ${found}, ${stated} in the deployment file`;
    return fail(difference, `correct ${name} in the file, or name another deployment file`);
  };
  const findings = {
    settlement: () => compare("settlement", "oracle", settlement),
    slasher: () => compare("slasher", "registry", slasher),
    accessManager: () => compare("accessManager", "oracle", accessManager),
    token: async () => {
      const { stake, fee } = await reader.tokens(contracts);
      const finding = compare("token", "registry", stake);
      return finding.level === "ok" ? compare("token", "oracle", fee) : finding;
    },
  } as const;
  const stated = (Object.keys(findings) as (keyof typeof findings)[]).filter((name) => file?.[name] !== undefined);
  return Promise.all(stated.map((name) => check(name, findings[name])));
}

/** Compares deployed code with this checkout's, without the values that constructors wrote into it. */
async function compareCode(
  contracts: Contracts,
  profile: BuildProfile,
  reader: DeploymentReader,
  tell: (line: string) => void,
): Promise<readonly Check[]> {
  tell(`comparing code with the ${profile} build; compiling it may take minutes`);
  const names = Object.keys(files) as (keyof typeof files)[];
  let artifacts: readonly Artifact[];
  try {
    artifacts = await loadArtifacts(Object.values(files), profile);
  } catch (error) {
    const [reason = ""] = String(error).split("\n");
    const way = "run doctor in a checkout of the repository, after npm ci with the development dependencies";
    return [{ name: "code", ...warn(`not compared: ${reason}`, way) }];
  }
  return Promise.all(
    names.map((name, index) =>
      check(`code of ${name}`, async () => {
        const { deployedBytecode, immutableReferences } = artifacts[index] ?? noArtifact(name);
        const code = await reader.code(contracts[name]);
        if (maskImmutables(code, immutableReferences) === deployedBytecode) return ok(`is the ${profile} build`);
        const what = code === "0x" ? "there is no contract" : "the code is not that of this checkout";
        const way = `check out the version that was deployed, give --profile ${profile === "default" ? "production" : "default"} if it was that build, or distrust ${contracts[name]}`;
        return fail(`${what} at ${contracts[name]} (${profile} build)`, way);
      }),
    ),
  );
}

function noArtifact(name: string): never {
  throw new Error(`Find the artifact of the ${name}: it is missing`);
}

function examineBindings(contracts: Contracts, reader: DeploymentReader): Promise<Check> {
  const { registry, oracle, settlement, slasher } = contracts;
  return check("bindings", async () => {
    const bound = await reader.bindings(contracts);
    const wrong = [
      ["the registry", "oracle", bound.oracleOfRegistry, oracle],
      ["the oracle", "registry", bound.registryOfOracle, registry],
      ["the settlement", "oracle", bound.oracleOfSettlement, oracle],
      ["the slasher", "registry", bound.registryOfSlasher, registry],
      ["the slasher", "oracle", bound.oracleOfSlasher, oracle],
    ].filter(([, , found, expected]) => found !== expected);
    const all = `registry, oracle, settlement ${settlement} and slasher ${slasher}`;
    if (wrong.length === 0) return ok(`${all} name each other`);
    const lines = wrong.map(([who, what, found, expected]) => `${who} is bound to ${what} ${found}, not ${expected}`);
    return fail(lines.join("; "), "correct the addresses: these contracts are not of one deployment");
  });
}

async function examineRoles(
  contracts: Contracts,
  fromBlock: bigint,
  reader: DeploymentReader,
): Promise<readonly Check[]> {
  const asked = reader.roles(contracts, fromBlock);
  return [
    await check("pausing", async () => examinePausing(await asked)),
    await check("pricing", async () => {
      const { pricing, closed } = await asked;
      if (pricing.everybody) return fail("anybody can set prices", LIMIT);
      if (closed || pricing.holders.length === 0) return ok("prices stay: nobody can set them");
      return ok(`prices of later requests are set by ${pricing.holders.map(shown).join(", ")}`);
    }),
    await check("administration", async () => {
      const { administrators } = await asked;
      if (administrators.length === 0) return ok("nobody administers the roles any more");
      const single = administrators.filter(({ isContract, delaySeconds }) => !isContract && delaySeconds === 0);
      const all = `roles are administered by ${administrators.map(shown).join(", ")}`;
      if (single.length === 0) return ok(all);
      return warn(`${all}: a single key without delay`, "make a timelock or a multisig the administrator");
    }),
  ];
}

function examinePausing({ pausing, unpausing, closed }: Roles): Finding {
  if (pausing.everybody) return fail("anybody can pause new requests", LIMIT);
  if (unpausing.everybody) return fail("anybody can end a pause of new requests", LIMIT);
  if (closed)
    return warn("the access manager has closed the oracle: nobody can pause new requests", "ask its administrator");
  const way = "have the administrator grant the role";
  if (pausing.holders.length === 0) return warn("nobody can pause new requests", way);
  const paused = `new requests can be paused by ${pausing.holders.map(shown).join(", ")}`;
  if (unpausing.holders.length === 0) return warn(`${paused}, and nobody can end that`, way);
  return ok(`${paused}; that ends by ${unpausing.holders.map(shown).join(", ")}`);
}

function shown({ account, delaySeconds, isContract }: Holder): string {
  return `${account} (${isContract ? "contract" : "account"}, ${delaySeconds === 0 ? "no delay" : `delay ${formatDuration(delaySeconds)}`})`;
}

function examineTokens(contracts: Contracts, reader: DeploymentReader): Promise<Check> {
  return check("tokens", async () => {
    const { stake, fee } = await reader.tokens(contracts);
    const lines: string[] = [];
    for (const [name, token] of Object.entries({ stake, fee })) {
      const decimals = await reader.decimals(token);
      if (decimals === null || decimals > MAX_DECIMALS) {
        const said = decimals === null ? "does not say its decimals" : `has ${decimals} decimals`;
        return warn(`the ${name} token ${token} ${said}`, "read and give amounts in its smallest unit");
      }
      lines.push(`${name} token ${token}: ${decimals} decimals`);
    }
    return ok(lines.join(", "));
  });
}

/** SE18: checks, for each currency, what requests cost now and whether the oracle takes them. */
async function examinePrices(
  contracts: Contracts,
  chain: AgentChainConfig,
  reader: DeploymentReader,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  const asked = readChainTerms(chainSource(chain), signal);
  const examine = (currency: Currency): Promise<Check> =>
    check(`prices in ${currency === "token" ? "tokens" : "coins"}`, async () => {
      const terms = await asked;
      const unit = unitOf(currency, terms.feeToken);
      const { version, unitPrice, gasRate, gasPriceCap, treasuryPpm, open } = await reader.prices(contracts, currency);
      const least = await terms.quote({ ...SMALLEST, currency }, signal);
      const gas = `${formatAmount(gasRate, unit)} for a coin of gas at up to ${formatGwei(gasPriceCap)} gwei`;
      const list = `list ${version}: ${formatAmount(unitPrice, unit)} a unit of pay, ${gas}, ${percent(treasuryPpm)} to the treasury`;
      const all = `${list}; a question to ${SMALLEST.committeeSize} seats costs at least ${formatAmount(least, unit)}`;
      if (open) {
        const unpaid = [
          ...(unitPrice === 0n ? ["answers (the unit price is 0)"] : []),
          ...(gasRate === 0n || gasPriceCap === 0n ? ["gas (its rate or its cap is 0)"] : []),
        ];
        if (unpaid.length === 0) return ok(`open, ${all}`);
        const message = `open, ${all}; nothing is paid for ${unpaid.join(" and for ")}`;
        if (LOCAL_CHAINS.includes(chain.chainId)) return warn(message, "set prices, unless it is a trial");
        return fail(message, "have the prices set before agents work there");
      }
      return warn(`paused, no new requests are taken; ${all}`, "wait, or ask who can end the pause");
    });
  return [await examine("token"), await examine("native")];
}
