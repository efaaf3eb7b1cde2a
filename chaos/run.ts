// Runs one manifest in a world and examines what came of it.
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolderOf } from "../agents/cli/shared/folder.ts";
import { messageOf } from "../agents/core/errors.ts";
import { isFinalState } from "../agents/core/request/state.ts";
import { copyJournals } from "./journals.ts";
import { examine, type Examination } from "./examine.ts";
import { FINALITY_DEPTH, printManifest, type Manifest, type Perturbation } from "./manifest.ts";
import { stakesOf } from "./money.ts";
import { perturb } from "./perturb.ts";
import type { Asked, ChaosWorld } from "./world.ts";

/** Time to end every request after everything is mended, and to decide the one that is asked then. */
export const PROGRESS_MS = 300_000;
/**
 * Beyond the finality depth a reorganization may name another committee for an attempt whose seats have signed. They abstain until
 * its seed cannot be proven any more, which takes 256 blocks, and a second attempt decides.
 */
const EXPIRY_MS = 150_000;
const POLL_MS = 300;
const COPY_MS = 250;

export interface RunOptions {
  /** Folder for the copies of the journals, and for all that a failure leaves. */
  readonly out: string;
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
}

export async function runManifest(world: ChaosWorld, manifest: Manifest, options: RunOptions): Promise<Examination> {
  const { out, tell, signal } = options;
  const copies = join(out, "journals");
  await makeFolderOf("--out", copies);
  await writeFile(join(out, "manifest.yaml"), printManifest(manifest));
  const copying = new AbortController();
  const copied = copyJournals(world.agents, copies, COPY_MS, copying.signal);
  const appeals: Promise<void>[] = [];
  const ask = async (protocol: string, hasSource?: boolean): Promise<Asked> => {
    const asked = await world.ask(protocol, hasSource);
    if (manifest.appeals) appeals.push(appealAgainst(world, asked, tell, copying.signal));
    return asked;
  };
  try {
    await world.nextEpoch();
    const asking = Promise.all(
      manifest.requests.map(async ({ protocol, afterMs, source }) => {
        await sleep(afterMs, undefined, { signal });
        return await ask(protocol, source);
      }),
    );
    // What fails on the way fails this run below, once everything is mended.
    asking.catch(() => undefined);
    const equivocators = agentsThat(manifest, ({ kind }) => kind === "equivocate");
    await perturb(world, manifest.perturbations, tell, signal);
    const asked = await asking;
    tell("everything is mended");
    await ended(world, asked, progressMs(manifest), options);
    const last = await ask("mbft");
    await ended(world, [last], PROGRESS_MS, options);
    await slashedBy(world, manifest.slashed, PROGRESS_MS, signal);
    copying.abort();
    await Promise.all([copied, ...appeals]);
    const liars = agentsThat(manifest, (one) => one.kind === "source" && one.fault === "lie");
    const examined = {
      asked,
      last,
      misled: [...liars, ...equivocators],
      equivocators,
      slashed: manifest.slashed,
      copies,
    };
    const examination = await examine(world, examined, signal);
    if (examination.findings.length > 0) await keep(world, out, examination);
    return examination;
  } finally {
    copying.abort();
    await Promise.all([copied, ...appeals]);
  }
}

/** The agents of the perturbations that are such. */
function agentsThat({ perturbations }: Manifest, isSuch: (one: Perturbation) => boolean): readonly number[] {
  return perturbations.flatMap((one) => ("agent" in one && isSuch(one) ? [one.agent] : []));
}

/**
 * Appeals against every decision of the request while it can be, until the signal aborts: a reorganization may take an appeal back.
 * What fails is tried again.
 */
async function appealAgainst(
  world: ChaosWorld,
  { requestId, protocol }: Asked,
  tell: RunOptions["tell"],
  signal: AbortSignal,
): Promise<void> {
  let failed: string | null = null;
  while (!signal.aborted) {
    try {
      const { provisional } = await world.reader.requestState(requestId, signal);
      if (provisional) {
        if (failed === null) tell(`appeals against the decision on request ${requestId} (${protocol})`);
        await world.appeal(requestId);
      }
    } catch (error) {
      const message = messageOf(error);
      if (!signal.aborted && message !== failed) tell(`the appeal failed: ${message}`);
      failed = message;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Waits until the agents have been slashed, or the time is over: the examiner tells which. */
async function slashedBy(
  world: ChaosWorld,
  agents: readonly number[],
  withinMs: number,
  signal: AbortSignal,
): Promise<void> {
  for (const end = performance.now() + withinMs; performance.now() < end;) {
    const stakes = await stakesOf(world, signal);
    if (agents.every((agent) => (stakes[agent] as bigint) < world.stake)) return;
    await sleep(POLL_MS, undefined, { signal });
  }
}

function progressMs({ perturbations }: Manifest): number {
  const isDeep = perturbations.some((one) => one.kind === "reorg" && one.blocks > FINALITY_DEPTH);
  return PROGRESS_MS + (isDeep ? EXPIRY_MS : 0);
}

/** Waits until all requests have ended, or the time is over: the examiner tells which. */
export async function ended(
  { reader }: ChaosWorld,
  asked: readonly Asked[],
  withinMs: number,
  { tell, signal }: Pick<RunOptions, "tell" | "signal">,
): Promise<void> {
  const end = performance.now() + withinMs;
  const open = new Map(asked.map((one) => [one.requestId, one.protocol]));
  while (performance.now() < end && open.size > 0) {
    for (const [requestId, protocol] of open) {
      // A node that reorganizes may show a state between two chains for a moment.
      const state = await reader.requestState(requestId, signal).catch(() => null);
      if (state === null || !isFinalState(state)) continue;
      open.delete(requestId);
      tell(`request ${requestId} (${protocol}) is ${state.status}`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

/** Keeps the agents' folders, without their keys, and what was found. */
export async function keep({ agents }: ChaosWorld, out: string, { findings }: Examination): Promise<void> {
  await writeFile(join(out, "findings.json"), `${JSON.stringify(findings, null, 2)}\n`);
  for (const [index, { directory }] of agents.entries())
    await cp(directory, join(out, `agent-${index}`), {
      recursive: true,
      filter: (path) => !path.endsWith("keystore.json") && !path.endsWith("filler"),
    });
}
