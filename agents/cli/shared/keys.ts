import { readFile } from "node:fs/promises";
import { createKeystore, openKeystore } from "../../adapters/keystore/keystore.ts";
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

export const operatorPasswordFlag: OptionSpec = {
  flags: "--operator-password-file <file>",
  description: "its password; else the variable CONCLAVE_OPERATOR_PASSWORD, else a prompt",
};

export const operatorFlags: readonly OptionSpec[] = [
  ...agentFlags,
  {
    flags: "--operator-keystore <file>",
    description: "keystore of the account that owns the stake (default: operatorKeystore of the config)",
  },
  operatorPasswordFlag,
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
  return openKeystore(path, await passwordOf(operatorPlaces(flags, host), host));
}

export function agentPassword(file: string | undefined, host: CliHost): Promise<string> {
  return passwordOf(agentPlaces(file, host), host);
}

export function agentPlaces(file: string | undefined, host: CliHost): PasswordPlaces {
  return placesOf(file, "CONCLAVE_PASSWORD", "--password-file", "the keystore", host);
}

export function operatorPlaces({ operatorPasswordFile: file }: OperatorFlags, host: CliHost): PasswordPlaces {
  return placesOf(file, "CONCLAVE_OPERATOR_PASSWORD", "--operator-password-file", "the operator's keystore", host);
}

/** Where the password of a keystore may come from. */
interface PasswordPlaces {
  readonly file: string | undefined;
  readonly env: string;
  /** The option that names the file. */
  readonly option: string;
  /** The keystore, in words. */
  readonly of: string;
}

function placesOf(file: string | undefined, env: string, option: string, of: string, host: CliHost): PasswordPlaces {
  return { file: file === undefined ? undefined : resolve(host.cwd, file), env, option, of };
}

/** Reads a password; `prompt` is what a terminal shows. */
export function passwordOf(
  { file, env, option, of }: PasswordPlaces,
  host: CliHost,
  prompt = `Password of ${of}`,
): Promise<string> {
  const { environment } = host;
  return readPassword({ file, env, option, of, prompt }, { environment, input: process.stdin, output: process.stderr });
}

/** Fewest characters of a new password. */
const MIN_PASSWORD_LENGTH = 8;

/** Reads a new password. A typed one is asked for twice, since a typing error would lose the key for good. */
export async function newPassword(places: PasswordPlaces, host: CliHost): Promise<string> {
  const { file, env, option, of } = places;
  const password = await passwordOf(places, host, `New password for ${of}`);
  if (password.length < MIN_PASSWORD_LENGTH) {
    throw new ConclaveError(
      "CONFIG_INVALID",
      `Protect ${of}: the password has fewer than ${MIN_PASSWORD_LENGTH} characters; choose a longer one`,
      { option },
    );
  }
  const typed = file === undefined && (host.environment[env] ?? "") === "";
  if (typed && (await passwordOf(places, host, "The same password again")) !== password) {
    throw new ConclaveError(
      "KEYSTORE_PASSWORD_WRONG",
      `Protect ${of}: the two passwords differ; nothing was made, start again`,
    );
  }
  return password;
}

/** Makes a new key, as `createKeystore` does. */
export function newKeystore(path: string, password: string, { scryptN }: CliHost): Promise<Keys> {
  return createKeystore(path, password, scryptN === undefined ? {} : { scryptN });
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
    `Read keystore ${path}: it states no address; name a keystore of "conclave account new" or "conclave agent init"`,
    { keystore: path },
  );
}
