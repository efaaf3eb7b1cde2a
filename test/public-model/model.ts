import { join } from "node:path";
import { modelConfigSchema } from "../../agents/adapters/models/config.ts";
import { createLlamaModel } from "../../agents/adapters/models/llama-model.ts";
import type { HostedModel } from "../../agents/ports/model.ts";
import { pullKnown } from "../../scripts/models/known.ts";
import { never } from "../adapters/model.suite.ts";

/** Also where `npm run test:public-model` and .ci/run put it. */
const FOLDER = join(import.meta.dirname, "../../.cache/models");
export const AT_ONCE = 8;
export const CONTEXT = 2048;

export interface LoadedModel {
  readonly model: HostedModel;
  readonly path: string;
  /** Id of the model's process. */
  readonly pid: number;
}

/** SmolLM2-135M-Instruct behind the agent's own adapter. */
export async function loadSmolLm2(): Promise<LoadedModel> {
  const watch = { signal: never(), onProgress: () => {}, onRetry: (reason: string) => console.error(reason) };
  const { path, sha256 } = await pullKnown("smollm2", FOLDER, process.env, watch);
  const config = modelConfigSchema.parse({ kind: "llama", path, sha256, sequences: AT_ONCE, contextSize: CONTEXT });
  let pid = 0;
  const onStart = (started: number): void => void (pid = started);
  const model = await createLlamaModel({ ...(config as Extract<typeof config, { kind: "llama" }>), onStart });
  return { model, path, pid };
}
