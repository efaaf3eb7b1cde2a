import { ANSWER_KINDS } from "../agents/core/types.ts";
import type { AnswerKind } from "../agents/core/types.ts";
import { BYZANTINE_KINDS, FAULTS, SOURCE_FAULTS, parseList, type SimOptions } from "./options.ts";

/** Virtual milliseconds of a window if none are given. */
export const WINDOW_MS = 1_000;

/** Values of the flags of `npm run sim`. */
export interface SimFlags {
  readonly protocol: string;
  readonly n: number;
  readonly byzantine: number;
  readonly faults: string;
  readonly byzantineKinds: string;
  readonly kind?: AnswerKind;
  readonly errorPpm: number;
  readonly sources: string;
  readonly twins?: number;
  readonly windowMs: number;
}

export function optionsFrom(flags: SimFlags): SimOptions {
  return {
    protocol: flags.protocol,
    n: flags.n,
    byzantine: flags.byzantine,
    ...(flags.twins === undefined
      ? {
          faults: parseList("faults", flags.faults, FAULTS),
          byzantineKinds: parseList("byzantine-kinds", flags.byzantineKinds, BYZANTINE_KINDS),
        }
      : // The schedule alone decides what strikes.
        { faults: [], byzantineKinds: ["twin"] as const }),
    kind: flags.kind ?? null,
    errorPpm: flags.errorPpm,
    sources: parseList("sources", flags.sources, SOURCE_FAULTS),
    ...(flags.twins === undefined ? {} : { twins: { windows: flags.twins, windowMs: flags.windowMs } }),
  };
}

/** Parses arguments as `commandFor` writes them and as sim/mutants.ts holds them: names and values in pairs. */
export function optionsOf(text: string): SimOptions {
  const words = text.split(" ").filter((word) => word !== "");
  const value = (name: string, otherwise: string): string => {
    const at = words.indexOf(`--${name}`);
    return at < 0 ? otherwise : (words[at + 1] ?? otherwise);
  };
  const kind = ANSWER_KINDS.find((one) => one === value("kind", ""));
  return optionsFrom({
    protocol: value("protocol", ""),
    n: Number(value("n", "4")),
    byzantine: Number(value("byzantine", "0")),
    faults: value("faults", "all"),
    byzantineKinds: value("byzantine-kinds", "all"),
    errorPpm: Number(value("error-ppm", "0")),
    sources: value("sources", "none"),
    windowMs: Number(value("window-ms", String(WINDOW_MS))),
    ...(words.includes("--twins") ? { twins: Number(value("twins", "1")) } : {}),
    ...(kind === undefined ? {} : { kind }),
  });
}
