// npm run deploy: deploys the contracts to a network of hardhat.config.ts.
import { main } from "./deploy/command.ts";

process.exitCode = await main(process.argv.slice(2));
