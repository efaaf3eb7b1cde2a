// What `conclave dev` prints for people.
import { formatDuration } from "../../agents/cli/shared/arguments.ts";
import { rows } from "../../agents/cli/shared/output.ts";
import { snippetsFor } from "./snippets.ts";
import type { DevFacts } from "./start.ts";

/** The families of models/README.md, in words. */
const TOY =
  "it adds and subtracts numbers of two digits, and knows five other families of questions (models/README.md); over all else it guesses or hangs";

/** Renders addresses, accounts, and snippets that work when they are pasted. */
export function renderWorld(facts: DevFacts): string {
  const { deployment, asker, agents, gateways, live, subgraphUrl, pageUrl, committeeSeconds, model } = facts;
  const { oracle, registry, token } = deployment;
  const numbers = agents.map(({ agentId, lies }) => `${agentId}${lies ? " (lies)" : ""}`);
  const table = rows([
    ["dashboard", pageUrl ?? "not built: run npm run page:build, then start again"],
    ["chain", `${facts.rpcUrl} (chain id ${deployment.chainId})`],
    ["oracle", oracle],
    ["registry", registry],
    ["token", `${token} (anybody may mint it)`],
    ["deployment", facts.deploymentFile],
    ["agents", numbers.join(", ")],
    ["their model", model.knowsAnswers ? `${model.name}; ${TOY}` : model.name],
    ["gateways", `${gateways[0] ?? ""} ... ${gateways.at(-1) ?? ""}`],
    ["live streams", `${live[0] ?? ""} ... ${live.at(-1) ?? ""} (/live/REQUEST/ATTEMPT)`],
    ...(subgraphUrl === null ? [] : [["subgraph", subgraphUrl] as const]),
    ["asker", `${asker.address}, with coins, tokens and subscription ${asker.subscriptionId}`],
    ["its key", `${asker.privateKey} (public: use it on no other chain)`],
    [
      "refunds",
      `a committee has between ${formatDuration(committeeSeconds.least)} and ${formatDuration(committeeSeconds.most)} to decide, the less the later in an epoch it is drawn; if it does not, the next committee is called while --retries are left, and then the question is refunded`,
    ],
  ]);
  const { shell, typescript, solidity, allow } = snippetsFor(facts);
  return `${[
    table,
    `\n# Ask from the shell, and prove the decision\n\n${shell}`,
    `\n// Ask from TypeScript: install @conclave/sdk and viem (docs/integrating.md says how)\n\n${typescript}`,
    `\n// Ask from a contract: install @conclave/contracts (docs/integrating.md says how)\n\n${solidity}`,
    `\n# Let your contract spend from the subscription\n\n${allow}`,
  ].join("\n")}\n\n`;
}
