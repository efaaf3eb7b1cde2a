import {
  useIsMutating,
  useMutation,
  useMutationState,
  useQueryClient,
  type Mutation,
  type QueryClient,
  type UseMutationOptions,
  type UseMutationResult,
} from "@tanstack/react-query";

import { WALLET_CHAIN } from "./account.ts";

interface SendingOptions<Sent, Given> extends Pick<
  UseMutationOptions<Sent, Error, Given>,
  "mutationFn" | "onSuccess" | "onError" | "onSettled"
> {
  /** Names what is sent: only one of a name is under way. */
  readonly what: readonly unknown[];
}

export interface Sending<Sent, Given> extends Pick<UseMutationResult<Sent, Error, Given>, "error" | "reset"> {
  readonly send: (given: Given) => void;
  readonly isSending: boolean;
  /** What has become of that which was left: it may still be sent, or was; null if there is none, or if it failed. */
  readonly left: "pending" | "success" | null;
  /** Waits no longer for what is under way, which nobody can take back: the wallet may still send it. */
  readonly leave: () => void;
}

/**
 * Sends transactions, one at a time: a second press can come before the button is locked, and would pay twice. The lock is the cache of
 * mutations, which knows of the first press at once, and also after the user has left the view and come back.
 */
export function useSending<Sent, Given>({ what, ...options }: SendingOptions<Sent, Given>): Sending<Sent, Given> {
  const queries = useQueryClient();
  const mutationKey = ["sending", ...what];
  const { mutate, error, reset } = useMutation<Sent, Error, Given>({
    ...options,
    mutationKey,
    onError: (...failed) => {
      // Not every wallet tells of another chain by itself.
      void queries.invalidateQueries({ queryKey: [WALLET_CHAIN] });
      options.onError?.(...failed);
    },
  });
  const isSending = useIsMutating({ mutationKey, predicate: isAwaited }) > 0;
  const ends = useMutationState({
    filters: { mutationKey, predicate: isLeftOne },
    select: ({ state }) => state.status,
  });
  const left = (["pending", "success"] as const).find((status) => ends.includes(status)) ?? null;
  const send = (given: Given): void => {
    if (queries.isMutating({ mutationKey, predicate: isAwaited }) === 0) mutate(given);
  };
  const leave = (): void => {
    leaveSending(queries, what);
    // Tells of it, too.
    reset();
  };
  return { send, isSending, left, leave, error, reset };
}

/** Ends the lock of what is under way; its end is nobody's matter any more. */
export function leaveSending(queries: QueryClient, what: readonly unknown[]): void {
  const mutationKey = ["sending", ...what];
  for (const one of queries.getMutationCache().findAll({ mutationKey, status: "pending" }))
    one.setOptions({ ...one.options, meta: { isLeft: true }, onSuccess: ignore, onError: ignore });
}

function ignore(): void {}

function isLeftOne({ meta }: Pick<Mutation, "meta">): boolean {
  return meta?.["isLeft"] === true;
}

function isAwaited(one: Mutation): boolean {
  return !isLeftOne(one);
}
