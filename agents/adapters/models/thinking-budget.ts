/** Tokens of thought by the number of a model's parameters: small models gain little, large ones are slow. */
const BUDGETS: readonly (readonly [parametersBelow: number, tokens: number])[] = [
  [2e9, 1024],
  [10e9, 2048],
];
/** Tokens of thought of all larger models, and of those whose size is not known. */
const MOST = 4096;
/** On the CPU thoughts would outlast a phase. */
const CPU_SHARE = 4;

/** Returns the tokens of thought of a model whose config names none; `parameters` is null if its size is not known. */
export function usualThinking(parameters: number | null, isCpu: boolean): number {
  const tokens = BUDGETS.find(([below]) => parameters !== null && parameters < below)?.[1] ?? MOST;
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
