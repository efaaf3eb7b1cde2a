import type { ConclaveError, ErrorCode } from "../../core/errors.ts";
import type { ModelFailureKind } from "../../ports/model.ts";

/** What to do about each error; docs/reasons.md says more, and a test compares the two lists. */
export const wayOut: Readonly<Record<ErrorCode, string>> = {
  CONFIG_INVALID: "correct what the message names; `conclave agent schema` says what conclave.json may hold",
  CONFIG_MISSING: "give what the message names: a file, a field of it, an option or a variable",
  KEYSTORE_MISSING:
    "correct the path, or make a keystore: with `conclave account new` for an account, with `conclave agent init` for an agent",
  KEYSTORE_EXISTS:
    "name another place for the key: --dir of `agent init`, --keystore of `account new`; an existing key is never overwritten",
  KEYSTORE_PASSWORD_WRONG: "give the password of this keystore; if it is right, restore the file from a copy",
  KEYSTORE_PASSWORD_MISSING: "give the password as the message says",
  CHAIN_UNREACHABLE: "check the RPC URL, the node and the network between; nothing was lost",
  CHAIN_WRONG_ID: "point the config to a node of the right chain, or correct chainId",
  CHAIN_NO_CONTRACT: "correct the contract's address, or deploy first",
  CHAIN_NO_BEACON:
    "choose a chain whose blocks carry randomness, such as Ethereum; docs/deploying.md lists some that do not",
  CHAIN_REVERTED: "read the contract's reason in the message; nothing was changed",
  CHAIN_TIMEOUT: "look with `conclave decision` or `conclave agent status` before repeating it",
  CHAIN_REORGED: "raise chain.finalityDepth, then start again",
  CHAIN_HEADER_UNKNOWN: "update conclave, or use another node; without the header this agent finds no committee",
  DEPLOYMENT_UNFINISHED: "give the same command again to go on, or add --reset to start afresh",
  STAKE_MISSING: "send the account more of the stake token; on a local chain `conclave account fund ACCOUNT` gives it",
  BALANCE_TOO_LOW:
    "send the account, or the subscription that pays, more of the fee token, or coins for the gas and what is paid in coins (on a local chain: conclave account fund ACCOUNT)",
  GAS_TOO_DEAR:
    "wait until gas is cheaper, or raise chain.maxFeePerGasGwei in the agent's conclave.json, or --max-fee-per-gas of the command",
  AGENT_NOT_REGISTERED: "register with `conclave agent register --stake AMOUNT`",
  PROTOCOL_UNKNOWN: "choose one of the protocols that the message lists",
  QUESTION_TOO_LONG: "shorten the question",
  TERMS_INVALID: "correct the term that the message names",
  SOURCE_UNREADABLE: "do what the message says; `conclave source read SOURCE` shows what an agent would read",
  REQUEST_UNKNOWN: "check the request id and the oracle's address",
  SUBSCRIPTION_UNKNOWN: "check the number, or create one with `conclave subscription create`",
  CANCEL_IMPOSSIBLE: "see `conclave decision`: only who asked can cancel, some blocks before the committee is known",
  APPEAL_IMPOSSIBLE: "look with `conclave decision`: only a provisional decision can be appealed against, in time",
  OUTCOME_IMPOSSIBLE: "look with `conclave decision`: an outcome is proven once the decision is final",
  SLASH_IMPOSSIBLE:
    "look with `conclave decision`: stake is lost only where two larger committees overturned a secured decision, in time",
  EVIDENCE_UNPROVABLE: "keep the evidence: submit it again when the attempt has its decision on chain",
  MODEL_FILE_MISSING: "correct the path (model.path in the config), or put the GGUF file there",
  MODEL_FILE_BROKEN: "download or export the GGUF file again",
  MODEL_DIGEST_WRONG: "remove the file and download it again, or correct the digest that it should have",
  MODEL_TEMPLATE_MISSING: "choose an instruct or chat model: this one was not trained to answer questions",
  MODEL_PULL_FAILED:
    "do what the message says; if a part of the file came, it is kept, and the same command goes on with it",
  DISK_FULL: "free some space and repeat the command, which goes on with what is here, or choose another folder",
  MODEL_CONTEXT_TOO_SMALL:
    "change model.contextSize or model.thinkingTokens as the message says, or choose a model with a longer context",
  CALIBRATION_WRONG: "make the table anew with `conclave calibrate`, or remove model.calibration from the config",
  MODEL_UNREACHABLE: "start the model server, or correct model.url in the config",
  MODEL_FAILED: "look at the reason in the message; the agent abstains and goes on",
  JOURNAL_CORRUPT: "do what the message says, and never put back an older copy of a journal",
  JOURNAL_LOCKED: "stop the other process that runs this agent",
  JOURNAL_CONFLICT: "leave it: the agent abstains from this attempt",
  BLOCK_MISSING: "name a source that holds the block with --peer, --kubo or --store",
  BLOCK_INVALID: "fetch the block from another source",
  STATE_LOCKED: "wait for the other `conclave verify`, or name another file with --state",
  STORE_LOCKED: "wait for the process that writes there or stop it; `--dry-run` only looks",
  STORE_INVALID: "mend the store as the message says; until then nothing is collected in it",
  PIN_UNKNOWN: "look at the CID and at --from or --from-kubo",
  CAR_INVALID: "export the CAR again, or name another source; nothing of it was used",
  PINNING_FAILED: "look at the reason in the message; what was kept here stays kept, and the command can be repeated",
  TRANSCRIPT_INVALID:
    "look at the reason in the message; what seats signed and does not replay proves that they are wrong: report it",
  TRANSCRIPT_FOREIGN: "give the CID or CAR of a transcript, and the chain and oracle that it is of; nothing was pinned",
  SUBGRAPH_UNREACHABLE:
    "check the URL of the subgraph and its graph-node; `conclave history --blocks N` asks the chain",
  SUBGRAPH_FAILED: "look at the reason in the message; deploy the subgraph/ of this version, or ask another endpoint",
  SUBGRAPH_INVALID: "check that the URL is a subgraph of Conclave, or ask another endpoint",
  SUBGRAPH_BEHIND: "wait until it has caught up, or take it as it is with --max-behind BLOCKS",
  SUBGRAPH_WRONG_CHAIN: "name the subgraph of this deployment, or the deployment of this subgraph",
  NETWORK_FAILED: "check the addresses and that the other side runs",
  USAGE: "see --help of the command",
};

const NO_SCHEMA = "choose a server or model that can be held to a JSON schema; nothing is taken on trust";

/** What to do about MODEL_FAILED, by its kind. */
const modelWays: Readonly<Record<ModelFailureKind, string>> = {
  timeout:
    "choose a faster model, or raise the shorter of timing.phaseMs and model.timeoutMs; where the model was only being loaded, ask again",
  overloaded: "raise model.sequences or model.concurrency, or add a machine",
  "rate-limit": "wait, ask the provider for more, or add an endpoint to model.fallbacks",
  "budget-spent": "raise model.tokensPerRequest",
  "prompt-too-long":
    "shorten the question, raise model.contextSize or the server's own, or choose a model with a longer context",
  "answer-too-large": "look at the server: it does not keep to the limits it is given",
  truncated: "choose a model that is less verbose, or a server that keeps to the lengths in a schema",
  "thinking-too-long": "raise model.thinkingTokens, or turn the model's thinking off where it is served",
  unparsable: NO_SCHEMA,
  refused: "check url, model, apiKeyFile or apiKeyEnv in the config, and the provider's rules",
  unsupported: NO_SCHEMA,
  crashed: "look at the message; another build of the engine, or another model, may help",
};

/** What to do about STAKE_MISSING, by the first of these that its data has. */
const stakeWays: readonly (readonly [about: string, way: string])[] = [
  ["error", "do what the message says, and repeat the command"],
  ["unbondingEnd", "wait until then, and repeat the command"],
  ["unbonding", "begin with `conclave agent unstake --amount AMOUNT`, and withdraw when that is free"],
  ["maxStake", "name a stake within these bounds with --stake"],
  [
    "room",
    "name an amount of more than 0 for which there is enough of both; on a local chain `conclave account fund ACCOUNT` gives tokens",
  ],
  ["minStake", "bond what is missing with `conclave delegate`, and repeat the command"],
  ["stake", "name an amount up to that with --amount, or `--amount all`"],
];

/** What to do about CONFIG_INVALID of a file that is no keystore. */
const keystoreWay = "name a keystore: `conclave account new` and `conclave agent init` make one";

/** Returns what to do about the error, by its kind if it has one, else by its code. */
export function wayOutOf({ code, data }: ConclaveError): string {
  const kind = data["kind"] as ModelFailureKind | undefined;
  const stakeWay = stakeWays.find(([about]) => about in data)?.[1];
  if (code === "CONFIG_INVALID" && "keystore" in data) return keystoreWay;
  if (code === "STAKE_MISSING" && stakeWay !== undefined) return stakeWay;
  return code === "MODEL_FAILED" && kind !== undefined ? modelWays[kind] : wayOut[code];
}

/** Errors of the command line or the configuration, which end with another exit code. */
export function isUsage(code: string): boolean {
  return code === "USAGE" || code === "CONFIG_INVALID" || code === "CONFIG_MISSING";
}
