import { createAuditReader } from "../shared/audit-reader.ts";
import { readChainTerms } from "../../adapters/chain/terms.ts";
import { parseRequestId } from "../shared/arguments.ts";
import { chainFlags, findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { CommandSpec } from "../shared/command.ts";
import { reportRequest } from "../shared/request-report.ts";

export const decision: CommandSpec<ChainFlags> = {
  example: "conclave decision 1 --deployment deployments/31337.json",
  options: chainFlags,
  run: async ({ args, options, host }) => {
    const requestId = parseRequestId(args[0]);
    const source = await findChain(options, host);
    const [chain, terms] = await Promise.all([
      createAuditReader(source, host.signal),
      readChainTerms(source, host.signal),
    ]);
    return reportRequest(chain, terms, requestId, host.signal);
  },
};
