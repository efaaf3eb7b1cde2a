import { createOperatorActions } from "../../adapters/chain/operator.ts";
import { readChainTerms, type ChainTerms } from "../../adapters/chain/terms.ts";
import { ConclaveError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";
import { agentsNeeded } from "../../core/request/rounds.ts";
import { sampleAttempt } from "../../core/request/refusal.ts";
import type { Terms } from "../../core/types.ts";
import { accountFlags, openAccount, requireFunds, type AccountFlags } from "../shared/account.ts";
import { formatAmount, parseSubscriptionId, unitOf, type Unit } from "../shared/arguments.ts";
import { createAuditReader } from "../shared/audit-reader.ts";
import { findChain, readChainFlags } from "../shared/chain-source.ts";
import { unequalWeights } from "./capture.ts";
import { whyUndecided } from "./why-undecided.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows, type Row } from "../shared/output.ts";
import { requireReadable } from "./read-first.ts";
import { readSources, strayAddress } from "./question-sources.ts";
import { reportRequest } from "../shared/request-report.ts";
import { securityOf, sharedModel, securityRows, toyModel } from "./security.ts";
import { invalidTerm, MAX_FEE, termOptions, type TermsFlags } from "./term-options.ts";
import { requireTakers, termsOf } from "./terms.ts";
import { waitForDecision } from "../shared/wait.ts";

interface Options extends AccountFlags, TermsFlags {
  readonly question: string;
  readonly subscription?: string;
  readonly dryRun?: true;
  readonly wait?: true;
  readonly source?: readonly string[];
  readonly unread?: true;
}

export const request: CommandSpec<Options> = {
  example:
    'conclave request --question "What is 27 plus 38?" --kind number --keystore ./keystore.json --wait\n' +
    'conclave request --question "What first? (A) levee (B) pumps (C) alarms (D) maps" --kind policies --options 4\n' +
    'conclave request --question "Is 720 more than 500?" --kind boolean --appeals 1 --currency native --fee 0.05\n' +
    'conclave request --question "Is 720 more than 500?" --kind boolean --appeals 1 --finality 95\n' +
    'conclave request --question "What is the rate?" --kind number --decimals 4 --source "https://api.example.com/v1#/rate"\n' +
    'conclave request --question "Is 720 more than 500?" --kind boolean --security secured --assurance high --appeals 2 --dry-run',
  options: [
    { flags: "--question <text>", description: `at most ${limits.questionBytes} bytes`, required: true },
    ...termOptions,
    { flags: "--subscription <id>", description: "subscription that pays the fee (default: the account pays it now)" },
    {
      flags: "--source <source...>",
      description:
        "what answers must quote, under a byzantine protocol: https:// pages and values, eip155: calls, 'search: WORDS', CIDs, or files of text and PDFs, whose text is handed to the agents until the decision (waits for it)",
    },
    {
      flags: "--unread",
      description:
        "do not read pages and calls before they are paid for (default: they are read, unless there is a --delay)",
    },
    { flags: "--dry-run", description: "only show the fee, and what the request would secure" },
    { flags: "--wait", description: "show progress until the decision is final" },
    ...accountFlags,
  ],
  run: async ({ options, host, tell }) => {
    // Before anything is read: what the options themselves say. How many decimals a fee may have, the chain says.
    const asked = termsOf(options, ANY_TOKEN);
    const subscriptionId = subscriptionOf(options);
    readChainFlags(options, host);
    const sources = await readSources(options.question, options.source ?? [], host);
    requireTakers(asked, sources.question);
    const source = await findChain(options, host);
    const chain = await createAuditReader(source, host.signal);
    const chainTerms = await readChainTerms(source, host.signal);
    const { terms, feeRow } = await withFee(termsOf(options, chainTerms.feeToken), options, chainTerms, host.signal);
    requireOneToken(terms, chainTerms);
    requireAgents(terms, chainTerms);
    const [agents, appealUnit] = await Promise.all([
      chain.agents(host.signal),
      terms.security === "none" ? 0n : chainTerms.appealUnit(terms, host.signal),
    ]);
    const security = securityOf(terms, agents, { appealUnit, minStake: chainTerms.minStake });
    const warnings = [
      strayAddress(sources.question),
      sharedModel(agents),
      toyModel(agents),
      unequalWeights(terms, security.capture),
    ];
    for (const warning of warnings) if (warning !== null) tell(`warning: ${warning}`);
    const secured = securityRows(terms, security, chainTerms.stakeToken);
    if (options.dryRun === true) return { json: { fee: terms.fee, security }, text: rows([feeRow, ...secured]) };
    for (const [name, value] of secured) tell(`${name} ${value}`);
    // What is asked about later need not be there now.
    if (options.unread !== true && terms.delay === 0) {
      const number = await requireReadable(sampleAttempt(terms, sources.question), source, options.dir, host);
      if (number !== null) tell(`reads ${number} at the source, which is the answer unless it moves`);
    }
    const keys = await openAccount(options, host);
    if (subscriptionId === 0) {
      const payment = { what: "fee", amount: terms.fee, currency: terms.currency };
      await requireFunds(payment, chainTerms, keys.address, host.signal);
    }
    const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
    const handedOut = await sources.handOut(() => chain.agents(host.signal), host.signal);
    try {
      const { requestId, receipt } = await actions.request(terms, sources.question, subscriptionId);
      if (options.wait === true || options.source !== undefined) {
        tell(`request ${requestId}: asked in ${receipt.transactionHash}`);
        const state = await waitForDecision(chain, requestId, host.signal, tell);
        const report = await reportRequest(chain, chainTerms, requestId, host.signal);
        const hasTranscript = state.status !== "decided" && state.status !== "refunded";
        const why = hasTranscript ? await whyUndecided(chain, requestId, host) : [];
        return {
          json: { ...report.json, why },
          text: [report.text, ...why.map((reason) => `why: ${reason}`)].join("\n"),
          ok: state.status === "decided",
        };
      }
      return {
        json: {
          requestId: String(requestId),
          requestTx: receipt.transactionHash,
          requestGas: Number(receipt.gasUsed),
          fee: terms.fee,
          security,
        },
        text: rows([
          ["request", String(requestId)],
          feeRow,
          ["transaction", `${receipt.transactionHash} (${receipt.gasUsed} gas)`],
          ["next", `conclave decision ${requestId}`],
        ]),
      };
    } finally {
      await handedOut.close();
    }
  },
};

/** Takes every amount that the option does, before the chain tells of its token. */
const ANY_TOKEN: Unit = { symbol: "tokens", decimals: 60 };

/** Returns the terms with the given fee, or with the least that the oracle takes, and the fee in words. Throws TERMS_INVALID. */
async function withFee(
  terms: Terms,
  { fee }: Options,
  chainTerms: ChainTerms,
  signal: AbortSignal,
): Promise<{ readonly terms: Terms; readonly feeRow: Row }> {
  const shown = (amount: bigint): string => formatAmount(amount, unitOf(terms.currency, chainTerms.feeToken));
  if (terms.fee > MAX_FEE)
    throw invalidTerm("fee", fee, `at most ${shown(MAX_FEE)} fit; give less, or leave --fee out`);
  const least = await chainTerms.quote(terms, signal);
  if (fee === undefined) return { terms: { ...terms, fee: least }, feeRow: ["fee", shown(least)] };
  if (terms.fee < least)
    throw new ConclaveError(
      "TERMS_INVALID",
      `Ask the question: fee = ${fee}: this request costs at least ${shown(least)}; give more, or leave --fee out`,
      { field: "fee", value: fee, least: String(least) },
    );
  return { terms, feeRow: ["fee", `${shown(terms.fee)} (the least is ${shown(least)})`] };
}

function subscriptionOf({ subscription }: Options): number {
  return subscription === undefined ? 0 : parseSubscriptionId(subscription, "--subscription");
}

/** SC1: what a seat can lose is a multiple of its pay, so pay and stake must be in one token. */
function requireOneToken({ security }: Terms, { feeToken, stakeToken }: ChainTerms): void {
  if (security === "none" || feeToken.address === stakeToken.address) return;
  throw new ConclaveError(
    "TERMS_INVALID",
    `Ask the question: security = ${security}: a secured request is paid in the stake token, but this oracle takes fees in ${feeToken.symbol} (${feeToken.address}), and stake is in ${stakeToken.symbol} (${stakeToken.address}); leave --security out`,
    { field: "security", value: security, feeToken: feeToken.address, stakeToken: stakeToken.address },
  );
}

/** Refuses what the oracle would refuse with TooFewAgents. */
function requireAgents(terms: Terms, { drawableAgents }: ChainTerms): void {
  const seats = agentsNeeded(terms);
  if (drawableAgents >= seats) return;
  throw new ConclaveError(
    "TERMS_INVALID",
    `Ask the question: committee = ${terms.committeeSize} with ${terms.appeals} appeal${terms.appeals === 1 ? "" : "s"} needs ${seats} agents, but only ${drawableAgents} can be drawn; choose fewer seats or appeals, or wait for agents`,
    { field: "committee", value: terms.committeeSize, needed: seats, drawableAgents },
  );
}
