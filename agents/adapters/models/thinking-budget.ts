/** Models of fewer parameters gain little by thought. */
const SMALL_BELOW = 2e9;
const SMALL_TOKENS = 1024;
/** Tokens of thought of all larger models, and of those whose size is not known. */
const MOST = 4096;
/** On the CPU thoughts would outlast a phase. */
const CPU_SHARE = 4;

/** Returns the tokens of thought of a model whose config names none; `parameters` is null if its size is not known. */
export function usualThinking(parameters: number | null, isCpu: boolean): number {
  const tokens = parameters !== null && parameters < SMALL_BELOW ? SMALL_TOKENS : MOST;
  return isCpu ? tokens / CPU_SHARE : tokens;
}

/** A size in a model's name: `8b`, `1.5B`, `135m`, `8x7b`; not the `a3b` of what is active of it. */
const SIZE =
  /(?<![a-z0-9.])(?:(?<experts>[0-9]{1,3})x)?(?<size>[0-9]{1,4}(?:\.[0-9]{1,3})?)(?<unit>[bm])(?![a-z0-9])/giu;

/** Returns the number of parameters that a model's name states, the greatest of several; null if it states none. */
export function parametersIn(name: string): number | null {
  const sizes = [...name.matchAll(SIZE)].map(({ groups = {} }) => {
    return (
      Number(groups["experts"] ?? 1) * Number(groups["size"]) * (groups["unit"]?.toLowerCase() === "b" ? 1e9 : 1e6)
    );
  });
  return sizes.length === 0 ? null : Math.max(...sizes);
}
