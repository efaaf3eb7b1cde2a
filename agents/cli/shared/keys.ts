import { readFile } from "node:fs/promises";
import { openKeystore } from "../../adapters/keystore/keystore.ts";
import type { Keys } from "../../adapters/keystore/keys.ts";
import { readPassword } from "../../adapters/keystore/password.ts";
import { ConclaveError } from "../../core/errors.ts";
import { isHex } from "../../core/encoding/bytes.ts";
import type { Address } from "../../core/types.ts";
import { resolve } from "node:path";
import type { CliHost, OptionSpec } from "./command.ts";
import { CONFIG_FILE, DEFAULT_DIR, loadAgentConfig, type AgentConfig } from "./config.ts";

export interface AgentFlags {
  readonly dir: string;
  readonly passwordFile?: string;
}

export interface OperatorFlags extends AgentFlags {
  readonly operatorKeystore?: string;
  readonly operatorPasswordFile?: string;
}

export const dirFlag: OptionSpec = { flags: "--dir <dir>", description: "the agent's folder", default: DEFAULT_DIR };

export const passwordFlag: OptionSpec = {
  flags: "--password-file <file>",
  description: "password of the keystore; else the variable CONCLAVE_PASSWORD, else a prompt",
};

export const agentFlags: readonly OptionSpec[] = [dirFlag, passwordFlag];

export const operatorFlags: readonly OptionSpec[] = [
  ...agentFlags,
  {
    flags: "--operator-keystore <file>",
    description: "keystore of the account that owns the stake (default: the agent's own)",
  },
  {
    flags: "--operator-password-file <file>",
    description: "its password; else the variable CONCLAVE_OPERATOR_PASSWORD, else a prompt",
  },
];

export function readConfigOf(flags: AgentFlags, host: CliHost): Promise<AgentConfig> {
  return loadAgentConfig(resolve(host.cwd, flags.dir, CONFIG_FILE));
}

/** Opens the agent's hot key. */
export async function openAgentKeys(config: AgentConfig, flags: AgentFlags, host: CliHost): Promise<Keys> {
  return openKeystore(config.keystore, await agentPassword(flags.passwordFile, host));
}

/** Returns the keystore of the account that owns the stake: the operator's own, or the agent's. */
export function operatorKeystore(config: AgentConfig, flags: OperatorFlags, host: CliHost): string {
  const { operatorKeystore: flag } = flags;
  return flag === undefined ? (config.operatorKeystore ?? config.keystore) : resolve(host.cwd, flag);
}

/** Opens the operator's keystore. */
export async function openOperatorKeys(config: AgentConfig, flags: OperatorFlags, host: CliHost): Promise<Keys> {
  const path = operatorKeystore(config, flags, host);
  if (path === config.keystore) return openAgentKeys(config, flags, host);
  const file = flags.operatorPasswordFile === undefined ? undefined : resolve(host.cwd, flags.operatorPasswordFile);
  const places = { file, env: "CONCLAVE_OPERATOR_PASSWORD", prompt: "Password of the operator's keystore" };
  return openKeystore(path, await passwordOf(places, host));
}

export function agentPassword(
  file: string | undefined,
  host: CliHost,
  prompt = "Password of the keystore",
): Promise<string> {
  return passwordOf(
    { file: file === undefined ? undefined : resolve(host.cwd, file), env: "CONCLAVE_PASSWORD", prompt },
    host,
  );
}

function passwordOf(places: Parameters<typeof readPassword>[0], host: CliHost): Promise<string> {
  return readPassword(places, { environment: host.environment, input: process.stdin, output: process.stderr });
}

/**
 * Reads the address that a keystore holds unencrypted, so that no password is needed. Throws KEYSTORE_MISSING or
 * CONFIG_INVALID.
 */
export async function keystoreAddress(path: string): Promise<Address> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new ConclaveError(
      "KEYSTORE_MISSING",
      `Read keystore ${path}: it cannot be read; correct the path`,
      { path },
      cause,
    );
  }
  const address = /"address"\s*:\s*"(?:0x)?([0-9a-fA-F]{40})"/.exec(text)?.[1]?.toLowerCase();
  const prefixed = `0x${address ?? ""}`;
  if (isHex(prefixed, 20)) return prefixed as Address;
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Read keystore ${path}: it states no address; make it with "conclave agent init"`,
    { path },
  );
}
