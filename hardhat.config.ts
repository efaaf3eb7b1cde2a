import { createRequire } from "node:module";

import hardhatEthers from "@nomicfoundation/hardhat-ethers";
import hardhatEthersChaiMatchers from "@nomicfoundation/hardhat-ethers-chai-matchers";
import hardhatMocha from "@nomicfoundation/hardhat-mocha";
import hardhatNetworkHelpers from "@nomicfoundation/hardhat-network-helpers";
import { configVariable, defineConfig } from "hardhat/config";

// The compiler is the npm package: nothing is downloaded, and package-lock.json pins it.
const compiler = { version: "0.8.34", path: createRequire(import.meta.url).resolve("solc/soljson.js") };
const evmVersion = "osaka";

export default defineConfig({
  plugins: [hardhatEthers, hardhatEthersChaiMatchers, hardhatMocha, hardhatNetworkHelpers],
  solidity: {
    profiles: {
      // For development and tests: fast to compile. With 50 runs, or with one, the oracle would exceed the 24,576 bytes of EIP-170.
      default: {
        ...compiler,
        settings: { evmVersion, optimizer: { enabled: true, runs: 20 } },
      },
      // For deployment and gas figures: three times slower to compile.
      production: {
        ...compiler,
        // More runs leave the oracle too little room below the 24,576 bytes of EIP-170. Every file by itself would take four times as long, and a network cannot open builds of files with types alone.
        isolated: false,
        settings: { evmVersion, viaIR: true, optimizer: { enabled: true, runs: 840 } },
      },
    },
  },
  paths: {
    // The product; the token of local chains; contracts that tests and studies need.
    sources: ["contracts", "devnet/contracts", "test/support/contracts"],
    tests: { solidity: "test/contracts", mocha: "test/contracts" },
  },
  test: {
    solidity: {
      // A fixed seed: the same commit runs the same cases everywhere. FUZZ_SEED and FUZZ_RUNS search further.
      fuzz: { runs: Number(process.env["FUZZ_RUNS"] ?? 256), seed: process.env["FUZZ_SEED"] ?? "0xc0c1a7e" },
      // 4,000 calls per invariant; `npm run test:fuzz:long` makes 100,000.
      invariant: { runs: Number(process.env["INVARIANT_RUNS"] ?? 8), depth: 500, failOnRevert: true },
      // Solidity reads the same vectors as TypeScript.
      fsPermissions: { readDirectory: ["test/vectors"] },
    },
    mocha: { timeout: 900_000 },
  },
  networks: {
    // A fixed gas limit, the most that osaka allows a transaction. An estimate is exact, but for a gas price of zero and for
    // the last block: a call that credits its caller, or that meets the next day or epoch, uses more.
    default: { type: "edr-simulated", chainType: "l1", hardfork: "osaka", gas: 16_777_216 },
    // Where `npm run deploy -- --network NAME` goes. The URLs are variables, because they often hold an API key.
    mainnet: { type: "http", chainType: "l1", chainId: 1, url: configVariable("MAINNET_RPC_URL") },
    sepolia: { type: "http", chainType: "l1", chainId: 11_155_111, url: configVariable("SEPOLIA_RPC_URL") },
    // Any other chain.
    custom: { type: "http", url: configVariable("CONCLAVE_RPC", { default: "http://127.0.0.1:8545" }) },
  },
});
