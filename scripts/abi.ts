// Writes the package entry `conclave/abi` (abi/index.js and abi/index.d.ts).
//   node scripts/abi.ts           writes the files
//   node scripts/abi.ts --check   exits 1 if they differ from what the contracts and deployments/*.json yield
import { writeOrCheck } from "./shared/generated-files.ts";
import { generateAbi } from "./solidity/abi.ts";

writeOrCheck(generateAbi(), "scripts/abi.ts");
