import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
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
      try {
        return String(await publicClient.getBlockNumber({ cacheTime: 0 }));
      } catch (cause) {
        const what = "Wait for the transaction: the node gives no answer, so nobody can tell yet whether it is mined";
        throw new ConclaveError("CHAIN_UNREACHABLE", what, {}, cause);
      }
    },
  });
  return error === null ? null : <Trouble error={error} />;
}
