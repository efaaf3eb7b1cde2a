import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EngineReport } from "../../adapters/models/engine-report.ts";

/** Where the program runs, as far as it decides how builds of the engine are installed. */
export interface Place {
  /** A checkout of the repository pins the builds; the package `conclave` leaves them to its user. */
  readonly isCheckout: boolean;
  readonly platform: string;
  readonly arch: string;
}

/** npm's packages of the engine, by the driver that they need. */
const BUILDS: Readonly<Record<string, readonly string[]>> = { cuda: ["cuda", "cuda-ext"], vulkan: ["vulkan"] };
const SYSTEMS: Readonly<Record<string, string>> = { linux: "linux", win32: "win" };

export function ownPlace(): Place {
  // npm leaves it out of every package.
  const lock = join(import.meta.dirname, "../../../package-lock.json");
  return { isCheckout: existsSync(lock), platform: process.platform, arch: process.arch };
}

/** Says how to get the engine's build for a GPU. */
export function gpuBuildWay({ version, drivers }: Pick<EngineReport, "version" | "drivers">, place: Place): string {
  if (place.isCheckout) return "run npm run gpu, also after each npm ci (docs/models.md, GPU nodes)";
  const system = SYSTEMS[place.platform];
  const driver = Object.keys(BUILDS).find((one) => drivers.includes(one as "cuda"));
  const builds = BUILDS[driver ?? "vulkan"] ?? [];
  if (system === undefined || place.arch !== "x64")
    return `use a model server: npm has no build of the engine for a GPU on ${place.platform}-${place.arch}`;
  const names = builds.map((one) => `@node-llama-cpp/${system}-x64-${one}@${version}`);
  return `in the folder where you start conclave, run npm install conclave ${names.join(" ")}`;
}
