// Writes the package entry `@conclave/contracts/abi` (contracts/abi/index.js and contracts/abi/index.d.ts).
//   npm run generate     writes the files, and the other generated ones
//   npm run check        exits 1 if they differ from what the contracts and deployments/*.json yield
import { writeOrCheck } from "./shared/generated-files.ts";
import { generateAbi } from "./solidity/abi.ts";

writeOrCheck(generateAbi(), "scripts/abi.ts");
