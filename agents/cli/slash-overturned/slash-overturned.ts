import { revertName } from "../../adapters/chain/errors.ts";
import { createOperatorActions } from "../../adapters/chain/operator.ts";
import type { ChainTerms } from "../../adapters/chain/terms.ts";
import { seatsOfBits } from "../../core/encoding/words.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { DecidedRound } from "../../core/request/events.ts";
import { checkOverturns, type Overturn } from "../../core/request/overturn.ts";
import { isFinal, progressOf, roundsOf } from "../../core/request/progress.ts";
import { unpackRound } from "../../core/request/rounds.ts";
import type { AgentId, Request, RequestId } from "../../core/types.ts";
import type { ChainReader, OperatorActions, Receipt, SeatLoss } from "../../ports/chain.ts";
import { accountFlags, openAccount, type AccountFlags } from "../shared/account.ts";
import { formatAmount } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import { openRequest } from "../shared/request-source.ts";
import { rows, utc, type Row } from "../shared/output.ts";
import { sliceOf } from "../shared/slice.ts";

/** As in contracts/types/Limits.sol. */
const EVIDENCE_WINDOW_SECONDS = 7 * 24 * 3600;

interface Options extends AccountFlags {
  readonly dryRun?: true;
}

/** A request in which at least one decision was overturned. */
interface Case {
  readonly request: Request;
  readonly rounds: readonly DecidedRound[];
  readonly overturns: readonly Overturn[];
}

/** An overturned decision, and the gas of the call that slashes for it. */
interface Slashable {
  readonly overturn: Overturn;
  readonly gas: bigint;
}

/** What one call slashed, or would slash. */
interface Slash {
  readonly attempt: number;
  readonly losses: readonly SeatLoss[];
  readonly gasUsed: bigint;
  readonly transactionHash?: Receipt["transactionHash"];
}

export const slashOverturned: CommandSpec<Options> = {
  example: "conclave slash-overturned 1 --dry-run\nconclave slash-overturned 1 --keystore ./keystore.json",
  options: [
    { flags: "--dry-run", description: "only show who would lose how much stake, and the gas; needs no account" },
    ...accountFlags,
  ],
  run: async ({ args, options, host }) => {
    const { requestId, source, chain, terms } = await openRequest(args, options, host);
    const found = await requireOverturned(chain, requestId, host.signal);
    const isDryRun = options.dryRun === true;
    // Tried first, so that no password is asked for what the slasher refuses.
    const open = await requireSlashable(found, terms, host.signal);
    const slashes: Slash[] = [];
    if (isDryRun) {
      for (const one of open) slashes.push(await expectedSlash(found, one, { chain, terms }, host.signal));
    } else {
      const keys = await openAccount(options, host);
      const actions = await createOperatorActions({ ...source, account: keys.viemAccount() }, host.signal);
      for (const { overturn } of open) slashes.push(await sendSlash(found, overturn, actions));
    }
    const show = (amount: bigint): string => formatAmount(amount, terms.stakeToken);
    return {
      json: { requestId, dryRun: isDryRun, slashes },
      text: rows([
        ...slashes.flatMap((slash) => slashRows(slash, isDryRun, show)),
        isDryRun
          ? ["next", `conclave slash-overturned ${requestId}`]
          : ["reward", "the registry owes each of the two appellants a part (SC4); the caller gets nothing"],
      ]),
    };
  },
};

/** SC2, SC5: finds the overturned decisions from the chain. Throws SLASH_IMPOSSIBLE, which says why there are none. */
async function requireOverturned(chain: ChainReader, requestId: RequestId, signal: AbortSignal): Promise<Case> {
  const [events, state, head] = await Promise.all([
    chain.requestEvents(requestId, signal),
    chain.requestState(requestId, signal),
    chain.head(signal),
  ]);
  const progress = progressOf(events);
  const rounds = progress === null ? null : roundsOf(progress);
  const last = rounds?.at(-1);
  if (progress === null || rounds === null || last === undefined) throw impossible(requestId, "it has no decision");
  const { request, stage } = progress;
  if (request.terms.security === "none")
    throw impossible(requestId, "it is not secured: no stake stands behind its answer");
  if (!isFinal(progress)) throw impossible(requestId, "its decision is not final");
  if (!state.settled) throw impossible(requestId, "it is not settled yet; agents do that soon");
  if (stage.kind === "unanswered") throw impossible(requestId, "nobody answered its last attempt, so it ended as hung");
  const end = unpackRound(last.round).deadline + EVIDENCE_WINDOW_SECONDS;
  if (head.timestamp > end) throw impossible(requestId, `the time for it was over at ${utc(end)}`);
  const checks = checkOverturns(request.terms, rounds);
  const overturns = checks.flatMap(({ overturn }) => (overturn === null ? [] : [overturn]));
  if (overturns.length > 0) return { request, rounds, overturns };
  const whys = checks.map((check) => {
    const attempt = rounds[check.first]?.decision.attempt;
    return "why" in check ? `attempt ${attempt}: ${check.why}` : "";
  });
  throw impossible(
    requestId,
    whys.length === 0 ? "nobody appealed" : `no decision was overturned (${whys.join("; ")})`,
  );
}

/** SC6: leaves out the decisions for which nobody is left to slash now. Throws the revert if that is so for all. */
async function requireSlashable(
  { request, rounds, overturns }: Case,
  terms: ChainTerms,
  signal: AbortSignal,
): Promise<readonly Slashable[]> {
  const open: Slashable[] = [];
  let refusal: unknown = null;
  for (const overturn of overturns) {
    try {
      open.push({ overturn, gas: await terms.overturnGas(request, rounds, overturn, signal) });
    } catch (error) {
      if (revertName(error) !== "NobodyToSlash") throw error;
      refusal = error;
    }
  }
  if (open.length === 0) throw refusal;
  return open;
}

/** SC3: what each seat that signed would lose, by the stake that it has and the price list that is in force now. */
async function expectedSlash(
  { request, rounds }: Case,
  { overturn, gas }: Slashable,
  { chain, terms }: { readonly chain: ChainReader; readonly terms: ChainTerms },
  signal: AbortSignal,
): Promise<Slash> {
  const [unit, agents] = await Promise.all([terms.appealUnit(request.terms, signal), chain.agents(signal)]);
  const stakes = new Map(agents.map(({ agentId, stake, unbonding }) => [agentId, stake + unbonding]));
  const losses = signersOf(rounds[overturn.first]).map((agentId) => ({
    agentId,
    amount: sliceOf(stakes.get(agentId) ?? 0n, unit),
  }));
  return { attempt: attemptOf(rounds, overturn), losses, gasUsed: gas };
}

async function sendSlash({ request, rounds }: Case, overturn: Overturn, actions: OperatorActions): Promise<Slash> {
  const { losses, receipt } = await actions.slashOverturned(request, rounds, overturn);
  const { gasUsed, transactionHash } = receipt;
  return { attempt: attemptOf(rounds, overturn), losses, gasUsed, transactionHash };
}

function attemptOf(rounds: readonly DecidedRound[], { first }: Overturn): number {
  return rounds[first]?.decision.attempt ?? first;
}

/** The agents whose signatures are in the certificate of a round. */
function signersOf(round: DecidedRound | undefined): readonly AgentId[] {
  return seatsOfBits(round?.relay.signers ?? 0n).flatMap((seat) => round?.committee[seat]?.agentId ?? []);
}

function slashRows(
  { attempt, losses, gasUsed, transactionHash }: Slash,
  isDryRun: boolean,
  show: (amount: bigint) => string,
): readonly Row[] {
  const verb = isDryRun ? "would lose at most" : "lost";
  return [
    [`attempt ${attempt}`, "overturned by two larger committees"],
    ...losses.map(({ agentId, amount }): Row => [`agent ${agentId}`, `${verb} ${show(amount)}`]),
    transactionHash === undefined ? ["gas", String(gasUsed)] : ["transaction", `${transactionHash} (${gasUsed} gas)`],
  ];
}

function impossible(requestId: RequestId, why: string): ConclaveError {
  return new ConclaveError("SLASH_IMPOSSIBLE", `Slash for an overturned decision on request ${requestId}: ${why}`, {
    requestId: String(requestId),
  });
}
