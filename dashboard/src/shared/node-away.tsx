import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { PublicClient } from "viem";
import { ConclaveError } from "../../../sdk/src/index.ts";
import { useDashboard } from "../dashboard.tsx";
import { Trouble } from "./trouble.tsx";

/** Time between two looks whether the node answers. */
const LOOK_MS = 3_000;

/** Says that the node of the chain is away, as long as it is. Whoever waits for a transaction would only see that nothing comes. */
export function NodeAway(): ReactElement | null {
  const { publicClient, settings } = useDashboard();
  const { error } = useQuery({
    queryKey: ["node", settings],
    gcTime: 0,
    refetchInterval: LOOK_MS,
    queryFn: async () => {
      if (await answersNow(publicClient)) return true;
      const what = "Wait for the transaction: the node gives no answer, so nobody can tell yet whether it is mined";
      throw new ConclaveError("CHAIN_UNREACHABLE", what);
    },
  });
  return error === null ? null : <Trouble error={error} />;
}

/** True if the node answers now: what the SDK or viem remembers says nothing of that. */
export async function answersNow(publicClient: PublicClient): Promise<boolean> {
  return publicClient.getBlockNumber({ cacheTime: 0 }).then(
    () => true,
    () => false,
  );
}
