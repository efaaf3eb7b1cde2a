import { listModels, listUnfinished, type ListedModel } from "../../adapters/model-files/folder.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { CommandSpec } from "../shared/command.ts";
import { grid, printable } from "../shared/output.ts";
import { megabytes } from "../shared/progress.ts";
import { folderOf, folderOption } from "./folder.ts";

interface Options {
  readonly dir?: string;
}

const HEAD = ["name", "size", "architecture", "context", "chat template", "thinks", "sha256"];

export const modelList: CommandSpec<Options> = {
  example: "conclave model list\nconclave model list --dir /models --json",
  options: [folderOption],
  run: async ({ options, host }) => {
    const folder = folderOf(options.dir, host);
    const models = await listModels(folder);
    const unfinished = await listUnfinished(folder);
    const rest = unfinished.map(
      ({ path, bytes }) => `unfinished: ${printable(path)}, ${megabytes(bytes)}; pull it again to go on`,
    );
    const table =
      models.length === 0
        ? [`no models in ${folder}; get one with conclave model pull`]
        : [grid(HEAD, models.map(lineOf))];
    return { json: { folder, models: models.map(jsonOf), unfinished }, text: [...table, ...rest].join("\n") };
  },
};

function lineOf({ name, bytes, model }: ListedModel): readonly string[] {
  const start = [printable(name), megabytes(bytes)];
  if (model instanceof ConclaveError)
    return [...start, `${model.code}: ${printable(String(model.data["reason"] ?? ""))}`, "", "", "", ""];
  const { architecture, contextLength, hasTemplate, thinks, sha256 } = model;
  const yes = (is: boolean): string => (is ? "yes" : "no");
  return [
    ...start,
    architecture ?? "unknown",
    String(contextLength ?? "unknown"),
    yes(hasTemplate),
    yes(thinks),
    sha256,
  ];
}

function jsonOf({ model, ...file }: ListedModel): object {
  if (model instanceof ConclaveError) return { ...file, error: { code: model.code, message: model.message } };
  const { architecture, contextLength, hasTemplate, thinks, sha256 } = model;
  return { ...file, sha256, architecture, contextLength, hasTemplate, thinks };
}
