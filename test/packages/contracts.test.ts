// `@conclave/contracts` as a contract developer meets it: installed from the tarball into an empty project.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { createProject, pack, snippetsOf, type Packed, type Project } from "./project.ts";

const root = join(import.meta.dirname, "../..");
const megabyte = 1_000_000;
const readme = readFileSync(join(root, "contracts/README.md"), "utf8");
const [consumer = "", unitTest = ""] = snippetsOf(readme, "solidity");
const [readmeConfig = ""] = snippetsOf(readme, "js");
const [, setUp = ""] = snippetsOf(readme, "sh");
const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  devDependencies: Readonly<Record<string, string>>;
};
/** The oldest compiler that the pragma allows. */
const oldestSolc = "0.8.27";

/** Everything in the package: no test, no key, and no contract that consumers do not import. */
const paths = [
  "Accounts.sol",
  "LICENSE",
  "README.md",
  "abi/index.d.ts",
  "abi/index.js",
  "consumers/DecisionConsumer.sol",
  "consumers/examples/PolicyDesk.sol",
  "interfaces/IAccounts.sol",
  "interfaces/IAgentRegistry.sol",
  "interfaces/IDecisionConsumer.sol",
  "interfaces/IDecisionOracle.sol",
  "interfaces/ISettlement.sol",
  "libraries/BalancesLib.sol",
  "libraries/DecisionHeadLib.sol",
  "libraries/PricesLib.sol",
  "libraries/RequestIdLib.sol",
  "libraries/RequestLib.sol",
  "libraries/RequestState.sol",
  "libraries/RequestTermsLib.sol",
  "libraries/RoundLib.sol",
  "libraries/TokenLib.sol",
  "mocks/AnswerText.sol",
  "mocks/MockDecisionOracle.sol",
  "mocks/MockFeeToken.sol",
  "package.json",
  "types/Limits.sol",
  "types/Types.sol",
];

/** The README's config, with the oldest compiler, from npm, and with one more file to build. */
const config = readmeConfig
  .replace(
    /version: .+,\n/,
    `version: "${oldestSolc}",\n path: createRequire(import.meta.url).resolve("solc/soljson.js"),\n`,
  )
  .replace("npmFilesToBuild: [", '$&"@conclave/contracts/consumers/examples/PolicyDesk.sol", ')
  .replace(/^/, 'import { createRequire } from "node:module";\n');

/** Prints the status of a transaction that deploys the mock. */
const deployment = `import { artifacts, network } from "hardhat";

const { provider } = await network.create();
const { bytecode: data } = await artifacts.readArtifact("MockDecisionOracle");
const [from] = await provider.request({ method: "eth_accounts" });
const hash = await provider.request({ method: "eth_sendTransaction", params: [{ from, data, gas: "0xf00000" }] });
console.log((await provider.request({ method: "eth_getTransactionReceipt", params: [hash] })).status);
`;

describe("@conclave/contracts", () => {
  let project: Project;
  let packed: Packed;

  before(async () => {
    project = await createProject();
    packed = await pack("contracts", project.folder);
  });
  after(() => project.remove());

  it("packs what consumers need, in less than 300 kB", (test) => {
    assert.deepEqual(packed.paths, paths);
    test.diagnostic(`${packed.unpackedBytes} bytes unpacked, ${packed.packedBytes} packed`);
    assert.ok(packed.unpackedBytes < 300_000, `${packed.unpackedBytes} bytes`);
  });

  it("allows a range of compilers in all that it packs, and pins the compiler of all else", () => {
    const folder = join(root, "contracts");
    for (const path of globSync("**/*.sol", { cwd: folder })) {
      const [, pragma] = /^pragma solidity (.*);$/m.exec(readFileSync(join(folder, path), "utf8")) ?? [];
      assert.equal(pragma, paths.includes(path) ? `^${oldestSolc}` : devDependencies["solc"], path);
    }
  });

  it("installs with OpenZeppelin alone, in less than 15 MB", async (test) => {
    await project.install(packed.file);
    const installed = JSON.parse(readFileSync(join(project.folder, "node_modules/.package-lock.json"), "utf8")) as {
      packages: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(Object.keys(installed.packages).toSorted(), [
      "node_modules/@conclave/contracts",
      "node_modules/@openzeppelin/contracts",
    ]);
    const bytes = project.installedBytes();
    test.diagnostic(`${bytes} bytes installed`);
    assert.ok(bytes > packed.unpackedBytes && bytes < 15 * megabyte, `${bytes} bytes`);
  });

  it("gives ABIs to JavaScript", async () => {
    await project.write(
      "abi.js",
      `import * as abi from "@conclave/contracts/abi";\nconsole.log(Object.keys(abi).join());\n`,
    );
    const names = await project.run(process.execPath, "abi.js");
    assert.equal(
      names.trim(),
      "accessManagerAbi,agentRegistryAbi,decisionConsumerAbi,decisionOracleAbi,deployments,errorsAbi,settlementAbi,slasherAbi,tokenAbi",
    );
  });

  it("lets the consumer of its README pass the test of its README, each in less than 30 lines", async () => {
    for (const code of [consumer, unitTest]) assert.ok(code.trimEnd().split("\n").length < 30, code);
    await rm(join(project.folder, "package.json"));
    for (const line of setUp.trim().split("\n"))
      await project.shell(line.replace(/ hardhat$/, ` hardhat@${devDependencies["hardhat"]} solc@${oldestSolc}`));
    await project.write("hardhat.config.js", config);
    await project.write("contracts/Insurance.sol", consumer);
    await project.write("contracts/Insurance.t.sol", unitTest);
    assert.match(await project.run("hardhat", "test"), /2 passing/);
    const broken = consumer.replace("== 1", "== 0");
    assert.notEqual(broken, consumer);
    await project.write("contracts/Insurance.sol", broken);
    await assert.rejects(project.run("hardhat", "test"), /due/);
  });

  it("is where the remappings of its README lead Foundry", () => {
    const remappings = [...readme.matchAll(/^(@[\w/]+\/)=(.+)$/gm)];
    assert.equal(remappings.length, 2);
    for (const [, name = "", path = ""] of remappings) {
      assert.equal(path, `node_modules/${name}`);
      assert.ok(existsSync(join(project.folder, path)), path);
    }
  });

  it("builds its mock and its example by name", async () => {
    await project.run("hardhat", "build", "--no-tests");
    for (const artifact of ["mocks/MockDecisionOracle", "consumers/examples/PolicyDesk"]) {
      const [name] = artifact.split("/").slice(-1);
      const file = join(project.folder, `artifacts/@conclave/contracts/${artifact}.sol/${name}.json`);
      assert.ok(existsSync(file), file);
    }
  });

  it("lets a test in TypeScript deploy the mock, with the config of its README", async () => {
    await project.write("deploy.js", deployment);
    assert.match(await project.run("hardhat", "run", "--no-compile", "deploy.js"), /^0x1$/m);
  });
});
