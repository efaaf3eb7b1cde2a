import type { CommandSpec } from "../shared/command.ts";
import { agentConfigJsonSchema } from "../shared/config.ts";

/** Prints what an editor needs to check and complete an agent's config while it is written. */
export const agentSchema: CommandSpec<object> = {
  example:
    "conclave agent schema > ./my-agent/conclave.schema.json\n" +
    '# then the first line of conclave.json is "$schema": "./conclave.schema.json",',
  options: [],
  run: async () => {
    const json = agentConfigJsonSchema();
    return { json, text: JSON.stringify(json, null, 2) };
  },
};
