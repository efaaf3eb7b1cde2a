import { createOperatorActions } from "../adapters/chain/operator.ts";
import { readChainTerms, type ChainTerms } from "../adapters/chain/terms.ts";
import { openKeystore } from "../adapters/keystore/keystore.ts";
import { ConclaveError } from "../core/errors.ts";
import { limits } from "../core/limits.ts";
import { protocols } from "../core/protocols/index.ts";
import type { RequestId, Terms } from "../core/types.ts";
import type { ChainEvent, ChainReader, RequestState } from "../ports/chain.ts";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { formatAmount } from "./arguments.ts";
import { createAuditReader } from "./audit-reader.ts";
import { chainFlags, findChain, type ChainFlags } from "./chain-source.ts";
import type { CliHost, CommandSpec } from "./command.ts";
import { CONFIG_FILE, DEFAULT_DIR, loadAgentConfig } from "./config.ts";
import { agentPassword, passwordFlag } from "./keys.ts";
import { rows } from "./output.ts";
import { readSources } from "./question-sources.ts";
import { reportRequest } from "./request-report.ts";
import { requireTakers, termsOf, type TermsFlags } from "./terms.ts";

interface Options extends ChainFlags, TermsFlags {
  readonly question: string;
  readonly keystore?: string;
  readonly passwordFile?: string;
  readonly wait?: true;
  readonly source?: readonly string[];
}

const POLL_MS = 1_000;

export const request: CommandSpec<Options> = {
  name: "request",
  summary: "ask a question from an account of one's own; deposits what is missing for the fee",
  example:
    'conclave request --question "What is 27 plus 38?" --kind number --fee 1 --keystore ./keystore.json --wait\n' +
    'conclave request --question "What first? (A) levee (B) pumps (C) alarms (D) maps" --kind policies --options 4',
  options: [
    { flags: "--question <text>", description: `at most ${limits.questionBytes} bytes`, required: true },
    {
      flags: "--kind <kind>",
      description: "boolean, choice, number, text or policies (a set of the options, not empty)",
      required: true,
    },
    { flags: "--options <number>", description: "choice and policies: how many letters, from A" },
    { flags: "--decimals <number>", description: "number: decimals that count" },
    { flags: "--tolerance <number>", description: "number: answers this close to each other agree, e.g. 0.5" },
    {
      flags: "--protocol <id>",
      description: protocols.map(({ id }) => id).join(", "),
      default: protocols[0]?.id ?? "",
    },
    {
      flags: "--committee <seats>",
      description: `${limits.minCommittee} to ${limits.maxCommittee}`,
      default: String(limits.minCommittee),
    },
    { flags: "--fee <amount>", description: "in whole fee tokens, e.g. 12.5", default: "1" },
    {
      flags: "--deadline-in <duration>",
      description: "90s, 10m, 2h or 1d; after it the fee is refunded",
      default: "10m",
    },
    {
      flags: "--assurance <level>",
      description: "normal or high; high only where the protocol's certificate is byzantine",
      default: "normal",
    },
    { flags: "--callback-gas <gas>", description: "for a consumer's callback; an account has none", default: "0" },
    {
      flags: "--source <file...>",
      description:
        "escalating: documents that answers must cite; handed to the agents until the decision (waits for it)",
    },
    { flags: "--wait", description: "show progress until the decision is final" },
    { flags: "--keystore <file>", description: "account that asks and pays (default: that of the agent's folder)" },
    passwordFlag,
    ...chainFlags,
  ],
  run: async ({ options, host, progress }) => {
    const source = await findChain(options, host);
    const chain = await createAuditReader(source, host.signal);
    const chainTerms = await readChainTerms(source, host.signal);
    const { timestamp } = await chain.head(host.signal);
    const terms = termsOf(options, chainTerms.feeToken, timestamp);
    const sources = await readSources(options.question, options.source ?? [], terms, host);
    requireTakers(terms, sources.question);
    requireAgents(terms, chainTerms);
    const keys = await openKeystore(await keystorePath(options, host), await agentPassword(options.passwordFile, host));
    await requireFee(terms, chainTerms, keys.address, host.signal);
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const handedOut = await sources.handOut(() => chain.agents(host.signal), host.signal);
    try {
      const { requestId, receipt } = await actions.request(terms, sources.question);
      if (options.wait === true || options.source !== undefined) {
        progress(`request ${requestId}: asked in ${receipt.transactionHash}`);
        const state = await waitForDecision(chain, requestId, terms.deadline, host.signal, progress);
        const report = await reportRequest(chain, chainTerms.feeToken, requestId, host.signal);
        return { ...report, ok: state.status === "decided" };
      }
      return {
        json: {
          requestId: String(requestId),
          requestTx: receipt.transactionHash,
          requestGas: Number(receipt.gasUsed),
          deadline: terms.deadline,
        },
        text: rows([
          ["request", String(requestId)],
          ["transaction", `${receipt.transactionHash} (${receipt.gasUsed} gas)`],
          ["next", `conclave decision ${requestId}`],
        ]),
      };
    } finally {
      await handedOut.close();
    }
  },
};

/** No committee could be drawn: the fee would only lie there until the deadline. */
function requireAgents(terms: Terms, { activeAgents }: ChainTerms): void {
  if (activeAgents >= terms.committeeSize) return;
  throw new ConclaveError(
    "TERMS_INVALID",
    `Ask the question: committee = ${terms.committeeSize}, but only ${activeAgents} agents are active; choose fewer seats, or wait for agents`,
    { field: "committee", value: terms.committeeSize, activeAgents },
  );
}

/** In whole tokens, before the contract would say it in the smallest units. */
async function requireFee(
  terms: Terms,
  chainTerms: ChainTerms,
  account: Parameters<ChainTerms["holdings"]>[0],
  signal: AbortSignal,
): Promise<void> {
  const { feeToken, stakeToken } = chainTerms;
  if (feeToken.address !== stakeToken.address) return;
  const held = await chainTerms.holdings(account, signal);
  const missing = terms.fee - held.oracle - held.stakeToken;
  if (missing <= 0n) return;
  throw new ConclaveError(
    "BALANCE_TOO_LOW",
    `Pay the fee of ${formatAmount(terms.fee, feeToken)}: ${account} has ${formatAmount(held.oracle, feeToken)} in the oracle and holds ${formatAmount(held.stakeToken, feeToken)}; send it ${formatAmount(missing, feeToken)} more`,
    { account, required: String(terms.fee), balance: String(held.oracle + held.stakeToken) },
  );
}

async function keystorePath(options: Options, host: CliHost): Promise<string> {
  if (options.keystore !== undefined) return resolve(host.cwd, options.keystore);
  const config = resolve(host.cwd, options.dir ?? DEFAULT_DIR, CONFIG_FILE);
  if (existsSync(config)) return (await loadAgentConfig(config)).keystore;
  throw new ConclaveError("CONFIG_MISSING", "Open the asking account: give --keystore FILE, or --dir of an agent", {
    field: "keystore",
  });
}

/** Until the request is decided, hung or refunded. Throws CHAIN_TIMEOUT once the deadline has passed. */
async function waitForDecision(
  chain: ChainReader,
  requestId: RequestId,
  deadline: number,
  signal: AbortSignal,
  progress: (line: string) => void,
): Promise<RequestState> {
  let told = 0;
  for (;;) {
    const state = await chain.requestState(requestId, signal);
    // From the events, so that no step is missed however fast it passed.
    const steps = (await chain.requestEvents(requestId, signal)).flatMap(stepOf);
    for (const step of steps.slice(told)) progress(`request ${requestId}: ${step}`);
    told = steps.length;
    if (state.status === "decided" || state.status === "hung" || state.status === "refunded") return state;
    const { timestamp } = await chain.head(signal);
    if (timestamp > deadline) {
      throw new ConclaveError(
        "CHAIN_TIMEOUT",
        `Wait for request ${requestId}: its deadline passed without a decision; an agent refunds the fee to your balance`,
        {
          requestId: String(requestId),
          status: state.status,
        },
      );
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

function stepOf(event: ChainEvent): readonly string[] {
  switch (event.kind) {
    case "requested":
      return ["requested"];
    case "seedRescheduled":
      return ["draw put off to a later block"];
    case "committeeDrawn":
      return ["drawn"];
    case "decisionCommitted":
      return [event.decision.status];
    case "requestRefunded":
      return ["refunded"];
    case "agentsChanged":
      return [];
  }
}
