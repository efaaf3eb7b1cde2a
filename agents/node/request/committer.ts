import { ConclaveError } from "../../core/errors.ts";
import type { ChainWriter, Commit, CommitOutcome, Receipt } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { sleep } from "./relayer.ts";

/** Submits what is ready together; whoever hands in a commit hears of that one alone. */
export interface Committer {
  /** Rejects with the reason why this commit failed, or with the signal's when it aborts. */
  commit(commit: Commit): Promise<Receipt | "already">;
}

interface Waiting {
  readonly commit: Commit;
  readonly settle: (outcome: CommitOutcome) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * A batch is what came within the wait, or while the batch before was on its way: under load nothing waits longer than it would
 * anyway, since an account's transactions go one after the other.
 */
export function createCommitter(
  { writer, clock, log }: { readonly writer: ChainWriter; readonly clock: Clock; readonly log: Log },
  waitMs: number,
  lifetime: AbortSignal,
): Committer {
  let waiting: Waiting[] = [];
  let running = false;

  const submit = async (batch: readonly Waiting[]): Promise<void> => {
    const commits = batch.map(({ commit }) => commit);
    const outcomes = await outcomesOf(writer, commits, lifetime);
    for (const [index, { settle }] of batch.entries()) settle(outcomes[index] as CommitOutcome);
    if (batch.length < 2) return;
    const failed = outcomes.filter((outcome) => outcome instanceof ConclaveError).length;
    log.info({ commits: batch.length, failed }, "committed what was ready together");
  };
  const run = async (): Promise<void> => {
    running = true;
    let batch: readonly Waiting[] = [];
    try {
      await sleep(clock, waitMs, lifetime);
      while (waiting.length > 0) {
        batch = waiting;
        waiting = [];
        // What fails as a whole fails for those in the batch alone.
        await submit(batch).catch((error: unknown) => batch.forEach(({ fail }) => fail(error)));
      }
    } catch (error) {
      for (const { fail } of waiting) fail(error);
      waiting = [];
    } finally {
      running = false;
    }
  };

  return {
    commit: (commit) =>
      new Promise((resolve, reject) => {
        const settle = (outcome: CommitOutcome): void =>
          outcome instanceof ConclaveError ? reject(outcome) : resolve(outcome);
        waiting.push({ commit, settle, fail: reject });
        if (!running) void run();
      }),
  };
}

async function outcomesOf(
  writer: ChainWriter,
  commits: readonly Commit[],
  signal: AbortSignal,
): Promise<readonly CommitOutcome[]> {
  const [only, ...others] = commits;
  if (only === undefined || others.length > 0) return writer.commitAll(commits, signal);
  const { request, round, committee, certificate } = only;
  return [await writer.commit(request, round, committee, certificate, signal)];
}
