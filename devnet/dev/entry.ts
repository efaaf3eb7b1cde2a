import type { TopCommand } from "../../agents/cli/commands.ts";

/** What the help lists of `conclave dev`. */
export const dev: TopCommand = {
  name: "dev",
  topic: "Try",
  summary: "start a local world until Ctrl-C: a chain, the contracts, agents, gateways, an account that can ask",
  load: async () => (await import("./dev.ts")).dev,
};
