import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { modelConfigSchema } from "../adapters/models/config.ts";
import { ConclaveError } from "../core/errors.ts";
import { chainConfigSchema, contentConfigSchema, timingConfigSchema } from "../node/config.ts";

/** conclave.json in an agent's directory; relative paths are relative to that directory. */
export const agentConfigSchema = z.strictObject({
  chain: chainConfigSchema,
  /** Encrypted key of the signer, which also pays the gas of relaying. */
  keystore: z.string().min(1).default("keystore.json"),
  /** Encrypted key of the operator; absent: the signer is its own operator. */
  operatorKeystore: z.string().min(1).optional(),
  model: modelConfigSchema,
  /** Multiaddrs to listen on. */
  listen: z.array(z.string().min(1)).min(1).max(16).default(["/ip4/0.0.0.0/tcp/4401"]),
  /** Multiaddrs to publish on chain instead of those listened on, e.g. behind a NAT. */
  announce: z.array(z.string().min(1)).max(8).default([]),
  content: contentConfigSchema.default({ kind: "helia" }),
  timing: timingConfigSchema,
  /** Journals and blocks. */
  dataDir: z.string().min(1).default("data"),
});

export type AgentConfig = z.infer<typeof agentConfigSchema>;

/** Reads, validates, and makes every path absolute. Throws CONFIG_MISSING or CONFIG_INVALID that names field and value. */
export async function loadAgentConfig(path: string): Promise<AgentConfig> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw new ConclaveError(
      "CONFIG_MISSING",
      `Read ${path} failed; create an agent with: conclave agent init`,
      { path },
      error,
    );
  });
  const config = parseAgentConfig(text, path);
  const directory = dirname(path);
  const model =
    config.model.kind === "llama" ? { ...config.model, path: resolve(directory, config.model.path) } : config.model;
  const operator =
    config.operatorKeystore === undefined ? {} : { operatorKeystore: resolve(directory, config.operatorKeystore) };
  return {
    ...config,
    ...operator,
    model,
    keystore: resolve(directory, config.keystore),
    dataDir: resolve(directory, config.dataDir),
  };
}

function parseAgentConfig(text: string, path: string): AgentConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new ConclaveError(
      "CONFIG_INVALID",
      `Parse ${path} failed: it is not JSON; mend it or run conclave agent init again`,
      { path },
      error,
    );
  }
  const parsed = agentConfigSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = issue?.path.join(".") ?? "";
  throw new ConclaveError(
    "CONFIG_INVALID",
    `Validate ${path} failed at ${field === "" ? "the top level" : field}: ${issue?.message ?? "unknown"}`,
    { path, field },
  );
}
