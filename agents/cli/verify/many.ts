import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { createChainReader, type ReaderOptions } from "../../adapters/chain/reader.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { RequestId } from "../../core/types.ts";
import { audit, type AuditCounts } from "../../node/audit/audit.ts";
import { verdictOf, type VerifyReport } from "../../node/audit/report.ts";
import { parseInteger, parseRequestId, usage } from "../shared/arguments.ts";
import { createAuditReader } from "../shared/audit-reader.ts";
import { createAuditPool, type AuditPool } from "./audit-pool.ts";
import { noState, openAuditState, type AuditState } from "./audit-state.ts";
import { findChain, type ChainFlags } from "../shared/chain-source.ts";
import type { Invocation, OptionSpec, Result } from "../shared/command.ts";
import { openContentSource, type ContentFlags, type ContentSource } from "../shared/content-source.ts";
import { printable, rows, type Row } from "../shared/output.ts";

export interface ManyFlags {
  readonly from?: string;
  readonly to?: string;
  readonly since?: string;
  readonly state?: string;
  readonly jobs?: string;
}

export const manyFlags: readonly OptionSpec[] = [
  { flags: "--from <id>", description: "verify a range of requests: the first" },
  { flags: "--to <id>", description: "and the last" },
  { flags: "--since <block>", description: "or verify every request asked in this block or later" },
  { flags: "--state <file>", description: "keep what is proven in a file, and go on from it" },
  { flags: "--jobs <number>", description: "verifying threads (default: one per core, at most 16)" },
];

/** Requests under way for each thread, most of which wait in the queue: their transactions are read together. */
const READ_AHEAD = 32;
const MAX_JOBS = 64;
const MAX_DEFAULT_JOBS = 16;
/** Most failures in the report; the state file has all of them. */
const MAX_FAILURES = 1_000;
const PROGRESS_MS = 2_000;

type Options = ManyFlags & ContentFlags & ChainFlags;

export interface Selection {
  readonly since: bigint;
  readonly includes: (requestId: RequestId) => boolean;
  readonly described: object;
}

/** Reads which requests to verify; null if the flags select none, since an argument names one. Throws USAGE. */
export function parseSelection({ from, to, since, state, jobs }: ManyFlags): Selection | null {
  if (since === undefined && from === undefined && to === undefined) {
    const way = "it is for many requests: give --from ID --to ID, or --since BLOCK, with it";
    if (state !== undefined) throw usage("--state", state, way);
    if (jobs !== undefined) throw usage("--jobs", jobs, way);
    return null;
  }
  if (since !== undefined && (from !== undefined || to !== undefined))
    throw usage("--since", since, "give --since BLOCK, or --from ID --to ID");
  if (since !== undefined) {
    const block = parseInteger(since, "--since", 0, Number.MAX_SAFE_INTEGER);
    return { since: BigInt(block), includes: () => true, described: { since: String(block) } };
  }
  if (from === undefined || to === undefined) throw usage("--from", from ?? "", "give both --from ID and --to ID");
  const [first, last] = [parseRequestId(from), parseRequestId(to)];
  if (first > last) throw usage("--to", to, "give an id that is not below that of --from");
  return {
    since: 0n,
    includes: (requestId) => requestId >= first && requestId <= last,
    described: { from: String(first), to: String(last) },
  };
}

/** Runs `conclave verify` for more than one request. */
export async function verifyMany(invocation: Invocation<Options>, selection: Selection): Promise<Result> {
  const { options, host } = invocation;
  const jobs =
    options.jobs === undefined
      ? Math.min(availableParallelism(), MAX_DEFAULT_JOBS)
      : parseInteger(options.jobs, "--jobs", 1, MAX_JOBS);
  const source = await findChain(options, host);
  const reader = await createAuditReader(source, host.signal);
  const state =
    options.state === undefined ? noState : await openAuditState(resolve(host.cwd, options.state), reader.domain);
  try {
    const store = await openContentSource(options, () => reader.agents(host.signal), host);
    try {
      const pool = await createAuditPool(jobs, {
        chain: reader,
        openTranscript: store.openTranscript,
        signal: host.signal,
      });
      const run = { invocation, selection, source, state, store, jobs };
      try {
        return await auditWith(run, pool, await reader.head(host.signal));
      } finally {
        await pool.close();
      }
    } finally {
      await store.close();
    }
  } finally {
    await state.close();
  }
}

interface Run {
  readonly invocation: Invocation<Options>;
  readonly selection: Selection;
  readonly source: ReaderOptions;
  readonly state: AuditState;
  readonly store: ContentSource;
  readonly jobs: number;
}

async function auditWith(run: Run, pool: AuditPool, head: { readonly number: bigint }): Promise<Result> {
  const { invocation, selection, source, state, jobs } = run;
  const { host, tell } = invocation;
  const begin = max(selection.since, source.deploymentBlock ?? 0n);
  const last = head.number - BigInt(source.finalityDepth);
  if (selection.since > head.number)
    throw usage("--since", String(selection.since), `the newest block of the chain is ${head.number}`);
  const found = new Findings(last, tell);
  const counts =
    begin > last
      ? { requests: 0, known: 0, undecided: 0, partial: 0 }
      : await audit({
          // The reader follows the chain from the block that it takes for the deployment's.
          chain: await createChainReader({ ...source, deploymentBlock: begin }, host.signal),
          last,
          includes: selection.includes,
          isKnown: (subject) => state.isProven(subject),
          verify: (subject) => pool.verify(subject),
          onReport: async (subject, report) => {
            found.add(report);
            await state.add(subject, report);
          },
          onBlock: (block) => found.reached(block),
          onTrouble: (error) => tell(`chain trouble, going on: ${printable(error.message)}`),
          concurrency: jobs * READ_AHEAD,
          signal: host.signal,
        });
  if (counts.requests === 0 && "from" in selection.described) throw noSuchRequests(selection.described);
  return found.result(selection, counts);
}

/** Counts reports, keeps failures and regularly tells the progress. */
class Findings {
  readonly #started = performance.now();
  readonly #last: bigint;
  readonly #tell: (line: string) => void;
  readonly #failures: object[] = [];
  readonly #lines: string[] = [];
  #proven = 0;
  #refuted = 0;
  #broken = 0;
  #unavailable = 0;
  #messages = 0;
  #signatures = 0;
  #block = 0n;
  #told = performance.now();

  constructor(last: bigint, tell: (line: string) => void) {
    this.#last = last;
    this.#tell = tell;
  }

  /** Notes the block reached; the node may have read further, to blocks that do not count yet. */
  reached(block: bigint): void {
    this.#block = block < this.#last ? block : this.#last;
    this.#tellProgress();
  }

  add(report: VerifyReport): void {
    const { requestId, root, messages, checked, failure } = report;
    this.#messages += messages;
    this.#signatures += checked.messageSignatures + (checked.certificateSignatures ?? 0);
    if (failure === undefined) this.#proven += 1;
    else if (failure.kind === "unavailable") this.#unavailable += 1;
    else if (failure.kind === "broken") this.#broken += 1;
    else this.#refuted += 1;
    if (failure !== undefined) {
      const line = `request ${requestId} ${verdictOf(report)}: block ${failure.cid ?? "none"}: ${printable(failure.reason)}`;
      this.#tell(line);
      if (this.#failures.length < MAX_FAILURES) {
        this.#failures.push({ requestId, transcript: root, ...failure });
        this.#lines.push(line);
      }
    }
    this.#tellProgress();
  }

  result(selection: Selection, counts: AuditCounts): Result {
    const seconds = this.#seconds();
    const failed = this.#failed();
    const verified = this.#proven + failed;
    const json = {
      ok: failed === 0,
      ...selection.described,
      lastBlock: this.#last,
      requests: counts.requests,
      proven: this.#proven,
      provenBefore: counts.known,
      refuted: this.#refuted,
      broken: this.#broken,
      unavailable: this.#unavailable,
      undecided: counts.undecided,
      partial: counts.partial,
      messages: this.#messages,
      signatures: this.#signatures,
      seconds,
      perSecond: seconds === 0 ? 0 : verified / seconds,
      failures: this.#failures,
      failuresLeftOut: failed - this.#failures.length,
    };
    return { json, text: textOf(json, this.#lines), ok: json.ok };
  }

  #failed(): number {
    return this.#refuted + this.#broken + this.#unavailable;
  }

  #seconds(): number {
    return (performance.now() - this.#started) / 1_000;
  }

  #tellProgress(): void {
    if (performance.now() - this.#told < PROGRESS_MS) return;
    this.#told = performance.now();
    const verified = this.#proven + this.#failed();
    const rate = (verified / this.#seconds()).toFixed(1);
    const place = `block ${this.#block} of ${this.#last}`;
    this.#tell(
      `${verified} tried, ${this.#refuted} refuted, ${this.#broken} broken, ${this.#unavailable} unavailable, ${rate} per second; ${place} read`,
    );
  }
}

interface Totals extends Omit<AuditCounts, "known"> {
  readonly ok: boolean;
  readonly lastBlock: bigint;
  readonly proven: number;
  readonly provenBefore: number;
  readonly refuted: number;
  readonly broken: number;
  readonly unavailable: number;
  readonly messages: number;
  readonly signatures: number;
  readonly perSecond: number;
  readonly failuresLeftOut: number;
}

function textOf(totals: Totals, failures: readonly string[]): string {
  const { requests, proven, provenBefore, refuted, broken, unavailable, undecided, partial } = totals;
  const lines: Row[] = [
    ["requests", `${requests} up to block ${totals.lastBlock}`],
    ["proven", `${proven}${provenBefore === 0 ? "" : `, and ${provenBefore} before`}`],
    ["refuted", String(refuted)],
    ["broken", broken === 0 ? "0" : `${broken}: name another source of the blocks, and verify again`],
    ["unavailable", unavailable === 0 ? "0" : `${unavailable}: name a source that holds the blocks, and verify again`],
    ["undecided", String(undecided)],
    ["signatures", `${totals.signatures}, on ${totals.messages} messages and their decisions`],
    ["rate", `${totals.perSecond.toFixed(1)} requests per second`],
  ];
  if (requests === 0) lines.push(["nothing", "no request was asked in these blocks, so that nothing is proven"]);
  if (partial > 0) lines.push(["left out", `${partial}: asked before, or with a question that cannot be read`]);
  const more = totals.failuresLeftOut > 0 ? [`and ${totals.failuresLeftOut} more: see the state file`] : [];
  return [rows(lines), ...failures, ...more].join("\n");
}

function noSuchRequests(described: object): ConclaveError {
  return new ConclaveError(
    "REQUEST_UNKNOWN",
    "Find requests of the range: the oracle has none; check the ids and the oracle's address",
    { ...described },
  );
}

function max(left: bigint, right: bigint): bigint {
  return left > right ? left : right;
}
