// Code to paste: how to ask in the world that runs.
import { getAddress } from "viem";
import { mbft } from "../../agents/core/protocols/mbft/index.ts";
import { ANSWER_KINDS } from "../../agents/core/types.ts";
import { limits } from "../../agents/core/limits.ts";
import { word } from "./shell-word.ts";
import type { DevFacts } from "./start.ts";

export interface Snippets {
  /** Asks, waits and verifies. */
  readonly shell: string;
  readonly typescript: string;
  readonly solidity: string;
  /** Lets a contract of the reader spend from the asker's subscription. */
  readonly allow: string;
}

/** A question that the repository's small model can answer: 65. */
const QUESTION = "What is 27 plus 38?";

type Known = Pick<DevFacts, "rpcUrl" | "deployment" | "deploymentFile" | "asker">;

export function snippetsFor({ rpcUrl, deployment, deploymentFile, asker }: Known): Snippets {
  const { chainId, oracle, registry, deploymentBlock } = deployment;
  const place = `--deployment ${word(deploymentFile)}`;
  const account = `${place} --keystore ${word(asker.keystore)} --password-file ${word(asker.passwordFile)}`;
  return {
    shell: [
      `npx conclave request --question "${QUESTION}" --kind number --wait ${account}`,
      `npx conclave history --blocks 1000 ${place}`,
      `npx conclave verify --since 0 ${place}`,
    ].join("\n"),
    typescript: `import { createConclave } from "@conclave/sdk";
import { createPublicClient, createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const deployment = ${JSON.stringify({ chainId, oracle, registry, deploymentBlock })} as const;
const transport = http("${rpcUrl}");
const account = privateKeyToAccount("${asker.privateKey}");
const conclave = createConclave({
  publicClient: createPublicClient({ transport }),
  walletClient: createWalletClient({ account, transport }),
  deployment,
});
const { requestId, cursor } = await conclave.ask({ question: "${QUESTION}", kind: "number" });
for await (const { stage } of conclave.follow(requestId, { from: cursor }))
  console.log(stage.kind, stage.kind === "decided" ? stage.decision.answer : "");`,
    solidity: `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {DecisionConsumer} from "@conclave/contracts/consumers/DecisionConsumer.sol";
import {IDecisionOracle} from "@conclave/contracts/interfaces/IDecisionOracle.sol";
import {RequestId, Status, Terms} from "@conclave/contracts/types/Types.sol";

contract Calculator is DecisionConsumer {
    mapping(RequestId id => Status status) public ended;
    mapping(RequestId id => int256 number) public numbers;

    constructor() DecisionConsumer(IDecisionOracle(${getAddress(oracle)})) {}

    // Guard this in your contract: every question spends the fee.
    function ask(string calldata question) external returns (RequestId) {
        Terms memory terms;
        (terms.kind, terms.protocol, terms.committeeSize) = (${ANSWER_KINDS.indexOf("number")}, ${mbft.code}, ${limits.minCommittee}); // a number, by ${mbft.id}
        (terms.fee, terms.duration, terms.callbackGasLimit) = (20 ether, 1 hours, 150_000);
        return _ask(${asker.subscriptionId}, terms, bytes(question));
    }

    function _onDecision(RequestId id, bytes32 outcome, bytes calldata, uint32) internal override {
        (ended[id], numbers[id]) = (Status.Decided, int256(uint256(outcome)));
    }

    function _onNoDecision(RequestId id, Status status) internal override {
        ended[id] = status;
    }
}`,
    allow: `npx conclave subscription consumer ${asker.subscriptionId} --consumer CONTRACT --allowance any ${account}`,
  };
}
