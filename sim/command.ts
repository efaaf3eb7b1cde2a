import { BYZANTINE_KINDS, FAULTS, SOURCE_FAULTS, type SimOptions } from "./options.ts";

/** Returns the command that runs exactly this seed again. */
export function commandFor(options: SimOptions, seed: number, mutant: string | null = null): string {
  const list = (chosen: readonly string[], all: readonly string[]): string =>
    chosen.length === 0 ? "none" : chosen.length === all.length ? "all" : chosen.join(",");
  const parts = [
    "npm run sim --",
    `--protocol ${options.protocol}`,
    `--n ${options.n}`,
    `--byzantine ${options.byzantine}`,
    "--seeds 1",
    `--seed ${seed}`,
    `--faults ${list(options.faults, FAULTS)}`,
  ];
  if (options.byzantine > 0) parts.push(`--byzantine-kinds ${list(options.byzantineKinds, BYZANTINE_KINDS)}`);
  if (options.kind !== null) parts.push(`--kind ${options.kind}`);
  if (options.errorPpm > 0) parts.push(`--error-ppm ${options.errorPpm}`);
  if (options.sources.length > 0) parts.push(`--sources ${list(options.sources, SOURCE_FAULTS)}`);
  if (options.twins !== undefined)
    parts.push(`--twins ${options.twins.windows}`, `--window-ms ${options.twins.windowMs}`);
  if (mutant !== null) parts.push(`--mutant ${mutant}`);
  return parts.join(" ");
}
