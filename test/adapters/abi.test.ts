import {
  accessManagerAbi,
  agentRegistryAbi,
  decisionConsumerAbi,
  decisionOracleAbi,
  deployments,
  errorsAbi,
  settlementAbi,
  slasherAbi,
  type Deployment,
} from "@conclave/contracts/abi";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
  decodeErrorResult,
  decodeFunctionData,
  encodeErrorResult,
  encodeFunctionData,
  getAbiItem,
  toFunctionSelector,
  type ContractFunctionArgs,
  type ContractFunctionName,
} from "viem";
import { generateAbi } from "../../scripts/solidity/abi.ts";
import { compile, contractFiles, readContracts } from "../../scripts/solidity/compiler.ts";

const root = join(import.meta.dirname, "../..");

describe("@conclave/contracts/abi", () => {
  it("equals the ABI that the contracts compile to", () => {
    for (const [path, text] of Object.entries(generateAbi()))
      assert.equal(readFileSync(join(root, path), "utf8"), text);
  });

  it("spells each item once, as the compiler gives it, but for the names of Solidity's own types", () => {
    const { contracts } = compile(readContracts(), { "*": ["abi"] });
    const plain = (abi: unknown) =>
      JSON.parse(
        JSON.stringify(abi, (key, value: unknown) => (key === "internalType" ? undefined : value)),
      ) as object[];
    for (const [contract, abi] of [
      ["DecisionOracle", decisionOracleAbi],
      ["AgentRegistry", agentRegistryAbi],
      ["Settlement", settlementAbi],
      ["Slasher", slasherAbi],
      ["ConclaveAccessManager", accessManagerAbi],
    ] as const) {
      const compiled = plain(contracts[`contracts/${contract}.sol`]?.[contract]?.abi);
      const items = compiled.filter(
        (item, index) => compiled.findIndex((other) => isDeepStrictEqual(item, other)) === index,
      );
      assert.deepEqual(
        plain(abi),
        items.filter((item) => "type" in item && item.type !== "constructor"),
        contract,
      );
    }
  });

  it("is imported by the package's name and encodes calls that the compiler checks", () => {
    const fund = { abi: decisionOracleAbi, functionName: "fund" } as const;
    const data = encodeFunctionData({ ...fund, args: [7, 5n] });
    const decoded = decodeFunctionData({ abi: decisionOracleAbi, data });
    assert.deepEqual([decoded.functionName, decoded.args?.[1]], ["fund", 5n]);
    // @ts-expect-error: an amount is not a string
    assert.throws(() => encodeFunctionData({ ...fund, args: [7, "five"] }));
    const bond: ContractFunctionArgs<typeof agentRegistryAbi, "nonpayable", "bond"> = [7, 1n];
    assert.equal(encodeFunctionData({ abi: agentRegistryAbi, functionName: "bond", args: bond }).length, 2 + 8 + 128);
    const names: ContractFunctionName<typeof slasherAbi>[] = ["submitMessages", "submitDecisions"];
    for (const name of names) assert.ok(getAbiItem({ abi: slasherAbi, name }));
    const callback = "onDecision(uint256,uint8,bytes32,bytes,uint32)";
    assert.equal(
      toFunctionSelector(getAbiItem({ abi: decisionConsumerAbi, name: "onDecision" })),
      toFunctionSelector(callback),
    );
    assert.ok(getAbiItem({ abi: settlementAbi, name: "settle" }));
    assert.ok(getAbiItem({ abi: accessManagerAbi, name: "hasRole" }));
  });

  it("knows every custom error of the contracts, once", () => {
    const declared = contractFiles().flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(/^ *error (\w+)\(/gm)].map(([, name]) => name),
    );
    const known = new Set<string | undefined>(errorsAbi.map(({ name }) => name));
    assert.ok(declared.length > 50);
    assert.deepEqual(
      declared.filter((name) => !known.has(name)),
      [],
    );
    const selectors = errorsAbi.map((item) => `${item.name}(${item.inputs.map(({ type }) => type).join()})`);
    assert.equal(new Set(selectors).size, selectors.length);
    const data = encodeErrorResult({ abi: errorsAbi, errorName: "UnknownProtocol", args: [9] });
    assert.deepEqual(decodeErrorResult({ abi: errorsAbi, data }).args, [9]);
  });

  it("lists deployments by chain id, without local chains", () => {
    const local: Deployment | undefined = deployments[31_337];
    assert.equal(local, undefined);
    for (const [chainId, deployment] of Object.entries(deployments)) assert.equal(deployment?.chainId, Number(chainId));
  });
});
