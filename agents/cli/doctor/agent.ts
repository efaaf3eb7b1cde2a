import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { formatEther, formatGwei } from "viem";
import { createDeploymentReader } from "../../adapters/chain/deployment.ts";
import { createChainReader } from "../../adapters/chain/reader.ts";
import { readChainTerms } from "../../adapters/chain/terms.ts";
import { credentialsApart } from "../../adapters/http.ts";
import { descriptorOf } from "../../adapters/models/create-model.ts";
import { openKeystore } from "../../adapters/keystore/keystore.ts";
import type { Address } from "../../core/types.ts";
import { MAX_MISSES, type AgentRecord } from "../../ports/chain.ts";
import { leastRetentionDays, retentionMs } from "../../node/collector.ts";
import { formatAmount } from "../shared/arguments.ts";
import { chainSource } from "../shared/chain-source.ts";
import type { CliHost } from "../shared/command.ts";
import { CONFIG_FILE, type AgentConfig } from "../shared/config.ts";
import { ANSWER_MS, answers, bind, check, fail, ok, warn, type Check } from "./checks.ts";
import { examineSources } from "./sources.ts";
import { examineConfidence, examineModel } from "./model.ts";
import { agentPassword, keystoreAddress, type AgentFlags } from "../shared/keys.ts";
import { printable, utc } from "../shared/output.ts";
import { safeStake, sliceOf } from "../shared/slice.ts";

/** Gas that one commit or refund costs at most, roughly. */
const GAS_OF_A_DUTY = 300_000n;
const DUTIES_IN_RESERVE = 10n;
const DAY_MS = 86_400_000;

/** Checks the agent's own side; `hasChain` is false if the chain cannot be asked. */
export async function examineAgent(
  config: AgentConfig,
  hasChain: boolean,
  { dir, passwordFile }: Partial<AgentFlags>,
  host: CliHost,
): Promise<readonly Check[]> {
  const keystore = await examineKeystore(config, passwordFile, host);
  const named = dir === undefined ? "" : ` --dir ${dir}`;
  const signer = await keystoreAddress(config.keystore).catch(() => null);
  return [
    keystore,
    ...(hasChain && signer !== null ? await examineRegistration(config, signer, named, host) : []),
    ...(hasChain ? [await examineRetention(config, host)] : []),
    ...(await Promise.all(config.listen.map((address) => examineListen(address)))),
    ...(await Promise.all(config.announce.map((address) => examineAnnounce(address)))),
    await examineLive(config),
    await examineContent(config, host),
    ...(await examineSources(config, host)),
    ...(await examineModel(config.model, config.timing.graceMs, host)),
    await examineConfidence(config.model),
  ];
}

/** Checks the keystore; without a password it is read, not opened. */
function examineKeystore(config: AgentConfig, passwordFile: string | undefined, host: CliHost): Promise<Check> {
  return check("keystore", async () => {
    const stated = await keystoreAddress(config.keystore);
    const given = passwordFile !== undefined || (host.environment["CONCLAVE_PASSWORD"] ?? "") !== "";
    if (!given) return ok(`${config.keystore} states ${stated}; not opened, no password was given`);
    const keys = await openKeystore(config.keystore, await agentPassword(passwordFile, host));
    if (keys.address === stated) return ok(`${config.keystore} opens and holds the key of ${stated}`);
    return fail(`${config.keystore} states ${stated}, but holds the key of ${keys.address}`, "restore it from a copy");
  });
}

/** @param named the option that names the agent's folder, if it was given */
async function examineRegistration(
  config: AgentConfig,
  signer: Address,
  named: string,
  host: CliHost,
): Promise<readonly Check[]> {
  const source = chainSource(config.chain);
  let registered: AgentRecord | null = null;
  const registration = await check("registration", async () => {
    const chain = await createChainReader(source, host.signal);
    const record = await chain.agentBySigner(signer, host.signal);
    registered = record;
    if (record === null) {
      return fail(
        `AGENT_NOT_REGISTERED: the registry has no agent with signer ${signer}`,
        `run: conclave agent register --stake AMOUNT${named}`,
      );
    }
    const { agentId, operator, active, asleep, exited } = record;
    const terms = await readChainTerms(source, host.signal);
    const { bonded } = await terms.position(agentId, operator, host.signal);
    const own = formatAmount(bonded, terms.stakeToken);
    const least = formatAmount(terms.minStake, terms.stakeToken);
    const safe = formatAmount(safeStake(terms.minStake), terms.stakeToken);
    if (exited)
      return fail(`agent ${agentId} is out of the draw for good`, "take its stake back and register a new agent");
    if (bonded < terms.minStake)
      return fail(`agent ${agentId}: the operator's stake is ${own}, at least ${least} is needed`, "stake more");
    if (asleep)
      return ok(`agent ${agentId} is registered; the operator's stake is ${own}, at least ${least} is needed`);
    if (!active) return fail(`agent ${agentId} is not active`, "look with: conclave agent status");
    const state = `agent ${agentId} is active; the operator's stake is ${own}, at least ${least} is needed`;
    return bonded - sliceOf(bonded) < terms.minStake
      ? warn(`${state}, which a slice of a secured request would take it below (SC3)`, `raise it to ${safe}`)
      : ok(state);
  });
  const gas = await check("gas", async () => {
    const reader = createDeploymentReader(source.rpcUrl, host.signal);
    const terms = await readChainTerms(source, host.signal);
    const [{ coin }, { price, tip }] = await Promise.all([terms.holdings(signer, host.signal), reader.gasPrice()]);
    const duty = GAS_OF_A_DUTY * price;
    const { maxFeePerGasGwei: most, maxPriorityFeePerGasGwei: mostTip } = config.chain;
    const held = `${signer} has ${formatEther(coin)} coins, and pays up to ${most} gwei per gas, ${mostTip} of it as a tip`;
    const way = `send it ${formatEther(DUTIES_IN_RESERVE * duty)} coins or more`;
    if (coin === 0n || coin < duty) return fail(`${held}, too few to commit once`, way);
    if (coin < DUTIES_IN_RESERVE * duty) return warn(`${held}, too few for ${DUTIES_IN_RESERVE} duties`, way);
    if (Number(formatGwei(price)) > most)
      return warn(`${held}; the node asks for ${formatGwei(price)}`, "wait, or raise chain.maxFeePerGasGwei");
    if (Number(formatGwei(tip)) <= mostTip) return ok(held);
    const raiseTip = "raise chain.maxPriorityFeePerGasGwei if this chain takes no lower tip";
    return warn(`${held}; the node names a tip of ${formatGwei(tip)}`, raiseTip);
  });
  if (registered === null) return [registration, gas];
  const service = await examineService(registered, config, named, host);
  return [registration, await examineRegisteredModel(registered, config, named), ...service, gas];
}

/** Checks that askers read in the registry which model answers. */
function examineRegisteredModel(
  { model: registered }: AgentRecord,
  { model }: AgentConfig,
  named: string,
): Promise<Check> {
  return check("registered model", async () => {
    // The check of the model says what is wrong with it.
    const configured = await descriptorOf(model).catch(() => null);
    if (configured === null)
      return warn("the configured model cannot be read, so it is not compared", "see the check of the model");
    if (configured === registered) return ok(`the registry names the configured model, ${printable(configured)}`);
    const fact = `the registry names ${printable(registered)}, the config ${printable(configured)}`;
    return warn(fact, `run: conclave agent model --set${named}`);
  });
}

/** SE20, RW6: checks that the agent is drawn for its seats, and that the operator's stake earns. */
async function examineService(
  { agentId, operator, asleep }: AgentRecord,
  { chain }: AgentConfig,
  named: string,
  host: CliHost,
): Promise<readonly Check[]> {
  const source = chainSource(chain);
  return [
    await check("attendance", async () => {
      const terms = await readChainTerms(source, host.signal);
      const { misses } = await terms.service(agentId, host.signal);
      const missed = `agent ${agentId} missed ${misses} seats in a row`;
      if (asleep)
        return fail(
          `${missed} and sleeps: it is not drawn`,
          `run: conclave agent run${named}, which wakes it; it is drawn again from the next epoch on`,
        );
      if (misses === 0) return ok(`agent ${agentId} did not miss its last seat`);
      const way = "keep it running, reachable at its announced addresses, and its model fast enough for the duration";
      return warn(`${missed}: after ${MAX_MISSES} it sleeps`, way);
    }),
    await check("earning", async () => {
      const [terms, reader] = await Promise.all([
        readChainTerms(source, host.signal),
        createChainReader(source, host.signal),
      ]);
      const [{ joining, joiningEnd }, { timestamp }] = await Promise.all([
        terms.position(agentId, operator, host.signal),
        reader.head(host.signal),
      ]);
      if (joining === 0n) return ok("all shares of the operator earn");
      const share = `${joining} shares of the operator do not earn yet`;
      if (joiningEnd > timestamp) return ok(`${share}, and may from ${utc(joiningEnd)} on`);
      return warn(`${share}, and may since ${utc(joiningEnd)}`, `run: conclave delegations --earn${named}`);
    }),
  ];
}

/** AV10: checks the retention window, without which an agent does not start. */
function examineRetention({ chain, collection }: AgentConfig, host: CliHost): Promise<Check> {
  return check("retention", async () => {
    const { unbondingDelaySeconds } = await readChainTerms(chainSource(chain), host.signal);
    const days = retentionMs(collection.retentionDays, unbondingDelaySeconds, CONFIG_FILE) / DAY_MS;
    const least = leastRetentionDays(unbondingDelaySeconds);
    return ok(
      `transcripts are kept for ${days} days, longer than the ${least} of the longest appeal period and this deployment's unbonding delay`,
    );
  });
}

/** Checks that the address is free, or that something answers there: the agent itself, if it runs. */
function examineListen(address: string): Promise<Check> {
  return check(`port ${address}`, async () => {
    const { host, port } = parts(address);
    const refused = await bind(host, port);
    if (refused === null) return ok("free");
    if (refused === "EADDRINUSE")
      return warn("in use", "fine if this agent is running; else stop the other program or change listen");
    return fail(`cannot be listened on (${refused})`, "correct listen in the config, or the rights of this user");
  });
}

function examineAnnounce(address: string): Promise<Check> {
  return check(`announced ${address}`, async () => {
    const { host, port } = parts(address);
    if (await answers(host, port)) return ok("answers");
    const way = "start the agent, open the port, or correct announce; from inside a NAT it may look closed";
    return warn("does not answer from here", way);
  });
}

/** LV4: says whether others can watch, and where. */
function examineLive({ live }: AgentConfig): Promise<Check> {
  return check("live stream", async () => {
    if (live === undefined) return ok("off: nobody can watch this agent's committees while they argue");
    const { host, port, public: isPublic, origins } = live;
    const readers = isPublic ? "everybody who reaches it" : "programs on this machine";
    const pages = origins.includes("*") ? "any page" : origins.length === 0 ? "no page" : origins.join(", ");
    const place = `${host}:${port} shows the committees live to ${readers}, and in browsers to ${pages}`;
    const refused = await bind(host, port);
    if (refused === null) return ok(place);
    if (refused === "EADDRINUSE")
      return warn(`${place}; the port is in use`, "fine if this agent is running; else change live.port in the config");
    return fail(`${host}:${port} cannot be listened on (${refused})`, "correct live.host or live.port in the config");
  });
}

function examineContent({ content, dataDir }: AgentConfig, host: CliHost): Promise<Check> {
  return check("content store", async () => {
    if (content.kind === "kubo") {
      const said = await reach(`${content.url.replace(/\/$/, "")}/api/v0/version`, "POST", host);
      if (said === null) return ok("the Kubo node answers");
      return fail(`the Kubo node does not answer (${said})`, "start it, or correct content.url in the config");
    }
    for (const folder of [dataDir, dirname(dataDir)]) {
      const refused = await access(folder, constants.W_OK).then(
        () => null,
        (error: NodeJS.ErrnoException) => error.code,
      );
      if (refused === null) return ok(`blocks are kept in ${dataDir}`);
      if (refused !== "ENOENT") return fail(`${folder} is not writable (${refused})`, "correct dataDir or its rights");
    }
    return fail(`neither ${dataDir} nor the folder above exists`, "make it, or correct dataDir in the config");
  });
}

/** Splits a multiaddr; the config accepts only the form /ip4/HOST/tcp/PORT. */
function parts(multiaddr: string): { readonly host: string; readonly port: number } {
  const [, , host = "", , port = ""] = multiaddr.split("/");
  return { host, port: Number(port) };
}

/** Returns null if something answers HTTP with any status; else the reason, without the URL. */
async function reach(place: string, method: "GET" | "POST", host: CliHost): Promise<string | null> {
  try {
    const signal = AbortSignal.any([host.signal, AbortSignal.timeout(ANSWER_MS)]);
    const { url, headers } = credentialsApart(place);
    const response = await fetch(url, { method, headers, signal });
    await response.body?.cancel();
    return null;
  } catch (error) {
    host.signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return cause instanceof Error && "code" in cause ? String(cause.code) : "no answer in time";
  }
}
