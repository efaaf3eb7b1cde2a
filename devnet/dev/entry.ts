import type { CommandEntry } from "../../agents/cli/shared/command.ts";

/** What the help lists of `conclave dev`. */
export const dev: CommandEntry = {
  name: "dev",
  summary: "start a local world until Ctrl-C: a chain, the contracts, agents, gateways, an account that can ask",
  load: async () => (await import("./dev.ts")).dev,
};
