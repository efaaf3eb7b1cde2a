import type { AskedTerms } from "../../../sdk/src/index.ts";
import { PROTOCOL_CODES } from "../../../sdk/src/index.ts";
import type { Settings } from "../settings/settings.ts";

/** Programs that ask what the form asks. */

export function typescriptFor(
  question: string,
  sources: readonly string[],
  terms: AskedTerms,
  settings: Settings,
): string {
  const { chainId, oracle, registry, deploymentBlock, rpcUrl } = settings;
  const asked = sources.length === 0 ? terms : { sources, ...terms };
  const fields = Object.entries(asked).map(([name, value]) => `  ${name}: ${escaped(literal(value))},`);
  return `import { createConclave } from "@conclave/sdk";
import { createPublicClient, createWalletClient, custom, http } from "viem";

const [account] = await window.ethereum.request({ method: "eth_requestAccounts" });
const conclave = createConclave({
  publicClient: createPublicClient({ transport: http(${JSON.stringify(rpcUrl)}) }),
  walletClient: createWalletClient({ account, transport: custom(window.ethereum) }),
  deployment: {
    chainId: ${chainId},
    oracle: "${oracle}",
    registry: "${registry}",
    deploymentBlock: ${deploymentBlock},
  },
});
const { requestId, cursor } = await conclave.ask({
  question: ${escaped(JSON.stringify(question))},
${fields.join("\n")}
});
for await (const { stage } of conclave.follow(requestId, { from: cursor }))
  if (stage.kind === "decided") console.log(stage.standing, stage.decision.answer);
`;
}

export function solidityFor(question: string, sources: readonly string[], terms: AskedTerms): string {
  const { kind, protocol, duration = 0, appeals = 0, retries = 0, committeeSize = 0, assurance, currency } = terms;
  const { delay, finality, nonAnswers, security, options, decimals, tolerance } = terms;
  const lead = sources.length === 0 ? question : question.trimEnd();
  const whole = [lead, ...sources.map((source) => (source.startsWith("search:") ? source : `source: ${source}`))].join(
    "\n",
  );
  const values: Readonly<Record<Exclude<keyof AskedTerms, "fee">, string | null>> = {
    kind: `RequestTermsLib.KIND_${kind.toUpperCase()};`,
    protocol: `${typeof protocol === "string" ? PROTOCOL_CODES[protocol] : protocol}; // ${protocol}`,
    duration: `${duration}; // seconds`,
    committeeSize: `${committeeSize};`,
    callbackGasLimit: "100_000;",
    appeals: appeals > 0 ? `${appeals};` : null,
    retries: retries > 0 ? `${retries};` : null,
    assurance: assurance === "high" ? "1; // high" : null,
    currency: currency === "native" ? "1; // the chain's coin" : null,
    delay: delay === undefined ? null : `${delay}; // seconds`,
    finality: finality === undefined ? null : `${finality}; // percent`,
    nonAnswers: nonAnswers === "refused" ? "1; // refused" : null,
    security: security === "secured" ? "1; // secured" : null,
    options: options === undefined ? null : `${options};`,
    decimals: decimals === undefined ? null : `${decimals};`,
    tolerance: tolerance === undefined ? null : `${tolerance};`,
  };
  const lines = Object.entries(values).flatMap(([term, value]) => (value === null ? [] : [`terms.${term} = ${value}`]));
  return `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.27;

import {DecisionConsumer} from "@conclave/contracts/consumers/DecisionConsumer.sol";
import {IDecisionOracle} from "@conclave/contracts/interfaces/IDecisionOracle.sol";
import {RequestTermsLib} from "@conclave/contracts/libraries/RequestTermsLib.sol";
import {RequestId, Status, Terms} from "@conclave/contracts/types/Types.sol";

contract Asker is DecisionConsumer {
    mapping(RequestId id => bytes32 outcome) public outcomes;
    mapping(RequestId id => Status status) public ended;

    constructor(IDecisionOracle oracle_) DecisionConsumer(oracle_) {}

    // Guard this in your contract: every question spends the fee.
    function ask(uint48 subscriptionId, uint80 fee) external returns (RequestId) {
        Terms memory terms;
        terms.fee = fee;
        ${lines.join("\n        ")}
        return _ask(subscriptionId, terms, ${bytesOf(whole)});
    }

    function _onDecision(RequestId id, bytes32 outcome, bytes calldata, uint32) internal override {
        (ended[id], outcomes[id]) = (Status.Decided, outcome);
    }

    function _onNoDecision(RequestId id, Status status) internal override {
        ended[id] = status;
    }
}
`;
}

function literal(value: unknown): string {
  return typeof value === "bigint" ? `${value}n` : JSON.stringify(value);
}

/** The text as Solidity's literal: `unicode` takes what is no ASCII. */
function bytesOf(text: string): string {
  const literals = escaped(JSON.stringify(text)).replaceAll(/\\./g, (one) => UNKNOWN_ESCAPES[one] ?? one);
  // eslint-disable-next-line no-control-regex
  return /^[\u0000-\u007f]*$/.test(literals) ? literals : `unicode${literals}`;
}

/** Escapes of JSON that Solidity does not know. */
const UNKNOWN_ESCAPES: Readonly<Record<string, string>> = { "\\b": "\\u0008", "\\f": "\\u000c" };

/** Writes what steers the direction of text as an escape: else a program could read otherwise than it runs, and Solidity refuses it. */
function escaped(literals: string): string {
  return literals.replaceAll(
    /[\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
