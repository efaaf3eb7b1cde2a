import { chainFlags, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import { openRequest } from "../shared/request-source.ts";
import { reportRequest } from "../shared/request-report.ts";

export const decision: CommandSpec<ChainFlags> = {
  example: "conclave decision 1 --deployment deployments/31337.json",
  options: chainFlags,
  run: async ({ args, options, host }) => {
    const { requestId, chain, terms } = await openRequest(args, options, host);
    return reportRequest(chain, terms, requestId, host.signal);
  },
};
