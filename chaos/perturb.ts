// Breaks and mends: what is active now decides the state of every agent, so that perturbations may overlap.
import { setTimeout as sleep } from "node:timers/promises";
import type { ChaosAgent } from "./agents.ts";
import { GOOD_WIRE, type Wire } from "./links.ts";
import type { Perturbation, PerturbationKind } from "./manifest.ts";
import type { ChaosWorld } from "./world.ts";

const SUPERVISE_MS = 500;
/** While one of these lasts, the agent's own process does not run. */
const DOWN: ReadonlySet<PerturbationKind> = new Set(["kill", "tear", "restart", "hostile", "equivocate"]);
/** While one of these lasts, a process that means harm runs in its place. */
const HARMFUL: ReadonlySet<PerturbationKind> = new Set(["hostile", "equivocate"]);

type Broken = Pick<ChaosWorld, "agents" | "links" | "chainFaults">;

/**
 * Runs the perturbations by their times; resolves when all are mended. An agent that ends by itself is started again, as
 * an operator's supervisor would.
 */
export async function perturb(
  world: Broken,
  perturbations: readonly Perturbation[],
  tell: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const active = new Set<Perturbation>();
  let last: Promise<void> = Promise.resolve();
  const inOrder = (action: () => Promise<void>): Promise<void> => (last = last.then(action));
  const settle = (): Promise<void> => inOrder(() => reconcile(world, [...active]));

  const one = async (perturbation: Perturbation): Promise<void> => {
    await sleep(perturbation.afterMs, undefined, { signal });
    tell(`breaks: ${JSON.stringify(perturbation)}`);
    active.add(perturbation);
    // Waits until no request is on its way to the chain, which may take an agent that is to be mended.
    if (perturbation.kind === "reorg") await world.chainFaults.reorganize(perturbation.blocks, perturbation.kept);
    else if (perturbation.kind === "clock") await world.chainFaults.jump(perturbation.seconds);
    else await inOrder(() => begin(world, perturbation));
    await settle();
    await sleep(perturbation.forMs, undefined, { signal });
    active.delete(perturbation);
    await settle();
    tell(`mended: ${perturbation.kind}`);
  };
  const done = new AbortController();
  const supervise = async (): Promise<void> => {
    while (!done.signal.aborted) {
      await settle();
      await sleep(SUPERVISE_MS, undefined, { signal: done.signal }).catch(() => undefined);
    }
  };
  const supervised = supervise();
  try {
    await Promise.all(perturbations.map(one));
  } finally {
    done.abort();
    await supervised;
    await inOrder(() => reconcile(world, []));
  }
}

/** What happens once, when a perturbation begins. */
async function begin({ agents }: Broken, perturbation: Perturbation): Promise<void> {
  if (!("agent" in perturbation)) return;
  const agent = agents[perturbation.agent] as ChaosAgent;
  switch (perturbation.kind) {
    case "kill":
      return agent.kill();
    case "tear":
      await agent.kill();
      return agent.disk.tear();
    case "restart":
      return agent.stop();
    case "second":
      // It ends by itself, or at the end of its time.
      void agent.serveTwice(perturbation.forMs);
      return;
    case "disk":
      return agent.disk.fill();
    case "hostile":
      await agent.kill();
      return agent.harm(
        perturbation.harm,
        agents.filter((other) => other !== agent).map(({ address }) => address),
      );
    case "equivocate":
      await agent.kill();
      return agent.equivocate();
    case "readOnly":
      await agent.kill();
      return agent.disk.protect();
    default:
  }
}

async function reconcile({ agents, links, chainFaults }: Broken, active: readonly Perturbation[]): Promise<void> {
  for (const [index, agent] of agents.entries()) {
    const own = active.filter((one) => "agent" in one && one.agent === index);
    if (!own.some(({ kind }) => kind === "readOnly")) agent.disk.unprotect();
    if (!own.some(({ kind }) => HARMFUL.has(kind))) await agent.disarm();
    const isDown = own.some(({ kind }) => DOWN.has(kind));
    if (!isDown && !agent.isRunning()) agent.start();
    agent.signal(own.some(({ kind }) => kind === "pause") ? "SIGSTOP" : "SIGCONT");
    const rpc = own.findLast((one) => one.kind === "rpc");
    await agent.rpc.fail(rpc?.fault ?? null);
    agent.rpc.onSend(own.some(({ kind }) => kind === "nonce") ? () => agent.stealNonce() : null);
    const model = own.findLast((one) => one.kind === "model");
    agent.model.fail(model?.fault ?? null);
    agent.sources.fail(own.findLast((one) => one.kind === "source")?.fault ?? null);
    if (!own.some(({ kind }) => kind === "disk")) await agent.disk.empty();
  }
  await chainFaults.priceGas(active.findLast((one) => one.kind === "gas")?.gwei ?? null);
  links.shape((from, to) => wireOf(active, from, to));
}

/** Returns how bytes travel from one agent to another; null if none arrive. */
export function wireOf(active: readonly Perturbation[], from: number, to: number): Wire | null {
  let { delayMs, bytesPerSecond, lossPercent } = GOOD_WIRE;
  for (const one of active) {
    if (one.kind === "partition" && one.side.includes(from) !== one.side.includes(to)) return null;
    if (one.kind === "oneWay" && one.from === from && one.to === to) return null;
    if (one.kind === "delay") delayMs += one.ms;
    if (one.kind === "bandwidth") bytesPerSecond = Math.min(bytesPerSecond, one.bytesPerSecond);
    if (one.kind === "loss") lossPercent = Math.max(lossPercent, one.percent);
  }
  return { delayMs, bytesPerSecond, lossPercent };
}
