import { pullModel } from "../../adapters/model-files/pull.ts";
import { placeOf } from "../../adapters/model-files/reference.ts";
import { readGgufHeader, templateLack } from "../../adapters/models/gguf.ts";
import { parseDigest } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows } from "../shared/output.ts";
import { folderOf, folderOption } from "./folder.ts";
import { makeFolderOf } from "../shared/folder.ts";
import { createProgress, megabytes } from "../shared/progress.ts";

interface Options {
  readonly sha256?: string;
  readonly dir?: string;
}

export const modelPull: CommandSpec<Options> = {
  example: [
    "conclave model pull hf:Qwen/Qwen3-8B-GGUF:Q4_K_M",
    "conclave model pull hf:Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q4_K_M.gguf#main --dir /models",
    "conclave model pull https://example.org/model.gguf --sha256 64_HEX_DIGITS --json",
  ].join("\n"),
  options: [
    { flags: "--sha256 <hex>", description: "the sha256 that the file must have (default: what Hugging Face says)" },
    folderOption,
  ],
  run: async ({ args: [reference = ""], options, host, tell }) => {
    const folder = folderOf(options.dir, host);
    const wanted = options.sha256 === undefined ? undefined : parseDigest(options.sha256, "--sha256");
    const place = await placeOf(reference, host.environment, host.signal);
    await makeFolderOf("--dir", folder);
    const watch = { signal: host.signal, ...createProgress(place.file, tell) };
    const { path, bytes, sha256, isNew } = await pullModel(place, folder, wanted, watch);
    const config = { kind: "llama", path, sha256 };
    const lack = templateLack(readGgufHeader(path));
    const warning = lack === null ? null : `${lack}, and agents refuse it; pull its instruct or chat version`;
    return {
      json: { path, bytes, sha256, isNew, model: config, warning },
      text: rows([
        ["file", `${path}, ${megabytes(bytes)}${isNew ? "" : ", which was here before: nothing was downloaded"}`],
        ["sha256", sha256],
        ...(warning === null
          ? ([
              ["config", `"model": ${JSON.stringify(config)}`],
              ["next", `conclave model check ${path}`],
            ] as const)
          : ([["warning", warning]] as const)),
      ]),
    };
  },
};
