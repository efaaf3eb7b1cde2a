// Builds the package conclave (command line and agent) into .cache/packages/conclave.
//   npm run cli:build
import { buildCliPackage, CLI_PACKAGE } from "./cli-package/build.ts";
import { scriptCommand } from "./shared/arguments.ts";

const command = scriptCommand("cli:build", "Builds the package conclave, the command line and the agent.").addHelpText(
  "after",
  `
Example:
  npm run cli:build && npm pack ./.cache/packages/conclave
`,
);
command.parse();
await buildCliPackage();
process.stdout.write(`${CLI_PACKAGE}\n`);
