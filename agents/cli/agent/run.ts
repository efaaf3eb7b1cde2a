import { pino, type Logger } from "pino";
import { createSystemClock } from "../../adapters/clock/system-clock.ts";
import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { descriptorOf } from "../../adapters/models/create-model.ts";
import { ConclaveError } from "../../core/errors.ts";
import { collectEvery, createCollector } from "../../node/collector.ts";
import type { Log } from "../../ports/log.ts";
import { parseChoice } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { announcedEndpoint, publishEndpoint } from "./endpoint.ts";
import { collectionPortsOf, retentionOf } from "../shared/retention.ts";
import { joinAgent } from "./join.ts";
import { agentFlags, openAgentKeys, type AgentFlags } from "../shared/keys.ts";
import { lookUpAgent, requireRegistered } from "../shared/operator.ts";
import { rows, toJson } from "../shared/output.ts";

interface Options extends AgentFlags {
  readonly logLevel: string;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;

export const agentRun: CommandSpec<Options> = {
  example: "conclave agent run --dir ./my-agent --password-file ./password",
  options: [...agentFlags, { flags: "--log-level <level>", description: LEVELS.join(", "), default: "info" }],
  run: async ({ options, host, json }) => {
    const level = parseChoice(options.logLevel, "--log-level", LEVELS);
    const onChain = await lookUpAgent(options, host);
    const { config, source } = onChain;
    const windowMs = retentionOf(onChain, options, host);
    const record = requireRegistered(onChain);
    const keys = await openAgentKeys(config, options, host);
    if (keys.address !== onChain.signer) {
      throw new ConclaveError(
        "CONFIG_INVALID",
        `Open keystore ${config.keystore}: it states ${onChain.signer}, but holds the key of ${keys.address}; restore the file from a copy`,
        { path: config.keystore },
      );
    }
    const logger = pino({ level, base: { agent: record.agentId } }, pino.destination({ dest: 2, sync: true }));
    const log = logTo(logger);
    const joined = await joinAgent(config, keys, log);
    const ended = new AbortController();
    let collecting = Promise.resolve();
    try {
      host.signal.throwIfAborted();
      // Publishes the endpoint once this process holds the journals' lock: a second process for the same agent must
      // not.
      await joined.agent.run(host.signal, async () => {
        const endpoint = announcedEndpoint(config, joined.multiaddrs);
        const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
        const published = await publishEndpoint(actions, record, endpoint);
        const configured = await descriptorOf(config.model);
        if (configured !== record.model)
          log.warn(
            { configured, registered: record.model },
            "the registry names another model than the config: run conclave agent model --set",
          );
        if (!record.active && !record.asleep)
          log.warn(
            { stake: String(record.stake) },
            record.exited
              ? "the agent has left the draw for good: its reputation fell too low, or it was slashed while it had less than the minimum stake; register a new one"
              : "the agent is not active: too little stake of its operator, it will not be drawn",
          );
        const ready = {
          event: "ready",
          agentId: record.agentId,
          signer: keys.address,
          multiaddrs: joined.multiaddrs,
          endpoint,
          published,
          metrics: joined.metricsUrl,
          live: joined.liveUrl,
        };
        const table = rows([
          ["agent", `${record.agentId} (${keys.address})`],
          ["listening", joined.multiaddrs.join(", ")],
          ["endpoint", `${endpoint.join(", ")} (${published ? "written to the chain" : "as on the chain"})`],
          ...(joined.metricsUrl === null ? [] : [["metrics", joined.metricsUrl] as const]),
          ...(joined.liveUrl === null ? [] : [["live stream", `${joined.liveUrl}/live/REQUEST/ATTEMPT`] as const]),
        ]);
        host.stdout(json ? `${toJson(ready)}\n` : `${table}\n`);
        const ports = { ...collectionPortsOf(onChain), store: joined.store };
        const intervalMs = config.collection.intervalMinutes * 60_000;
        const signal = AbortSignal.any([host.signal, ended.signal]);
        collecting = collectEvery(
          createCollector(ports, windowMs),
          { clock: createSystemClock(), log, intervalMs },
          signal,
        );
      });
    } catch (error) {
      // A signal is how this command ends, at any point.
      if (!host.signal.aborted) throw error;
    } finally {
      log.info({}, "stopping");
      ended.abort();
      await collecting;
      await joined.close();
    }
    return { json: { event: "stopped", agentId: record.agentId }, text: "stopped" };
  },
};

function logTo(logger: Logger): Log {
  return {
    debug: (data, message) => logger.debug(data, message),
    info: (data, message) => logger.info(data, message),
    warn: (data, message) => logger.warn(data, message),
    error: (data, message) => logger.error(data, message),
  };
}
