import {
  useIsMutating,
  useMutation,
  useQueryClient,
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
  const isSending = useIsMutating({ mutationKey }) > 0;
  const send = (given: Given): void => {
    if (queries.isMutating({ mutationKey }) === 0) mutate(given);
  };
  return { send, isSending, error, reset };
}
