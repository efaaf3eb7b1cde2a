import type { Address, AgentId, Ppm, RequestId, Round } from "../../agents/core/types.ts";

/** The core brands its ids, so that none is taken for another; applications hand in plain numbers and texts. */
type Plain<T> = T extends Address
  ? `0x${string}`
  : T extends AgentId | Ppm
    ? number
    : T extends RequestId | Round
      ? bigint
      : T extends Uint8Array | AbortSignal | bigint | string | number | boolean | null | undefined
        ? T
        : T extends object
          ? { readonly [Key in keyof T]: Plain<T[Key]> }
          : T;

/** An object whose functions take plain ids. */
export type TakesPlain<Actions> = {
  readonly [Name in keyof Actions]: Actions[Name] extends (...args: infer Args) => infer Result
    ? (...args: { [Index in keyof Args]: Plain<Args[Index]> }) => Result
    : Actions[Name];
};
