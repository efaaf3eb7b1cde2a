// Decisions per second that `conclave verify --since 0` proves, beside hashing the same blocks and checking the same signatures
// once.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { serialize } from "node:v8";
import type { Command } from "commander";
import { cidOf } from "../../../agents/adapters/ipfs/block.ts";
import { LocalBlocks } from "../../../agents/adapters/ipfs/local-blocks.ts";
import { cidString } from "../../../agents/core/encoding/cid.ts";
import { sha256 } from "../../../agents/core/encoding/bytes.ts";
import { between, toolCommand } from "../../../scripts/shared/arguments.ts";
import { startDecidedChain, type Decided, type DecidedChain } from "../../../devnet/decided-chain.ts";
import { LEAST_JUDGED, MAX_RATIO, MIN_FASTER, ROUNDS, WARM_UP, medianRound, missedBounds } from "./bounds.ts";
import { SOUND_FILE, type Measured, type Rate, type VerifyJson } from "./measured.ts";

function commandLine(): Command {
  return toolCommand("bench:verify")
    .description(
      `Measures how many decisions per second \`conclave verify\` proves, and compares that with the least work that a proof needs.

It makes decisions of four seats on a local chain, changes one byte of one transcript, and runs \`conclave verify --since 0 --jobs 1\` over all of them, from a folder: once with noble, and ${ROUNDS} times with the fastest curve of this machine. The run with the median ratio counts.

The least work: one thread hashes every block and every signed message once, and recovers its signer. Everything is decoded and in memory. Half of it runs before the verification, half after. The ratio is the processor time of verify (all threads, without the start of the program) divided by the least work's. Both take ${WARM_UP} decisions before they are timed.

Exit code 1 if one of these does not hold: the fastest curve proves at least ${MIN_FASTER} times as many decisions per second of processor time as noble; the ratio is at most ${MAX_RATIO}; verify finds and names the changed transcript. With fewer than ${LEAST_JUDGED} decisions only the last one is judged, because starting up then takes most of the time.`,
    )
    .option("--count <n>", "decisions, 2 to 100,000", between(2, 100_000), LEAST_JUDGED)
    .option("--json", "print one JSON object instead of text")
    .addHelpText("after", "\nExample:\n  npm run -s bench:verify -- --count 100 --json\n");
}

/** Measures and prints, and returns the exit code. Throws CommanderError. */
export async function main(argv: readonly string[]): Promise<number> {
  const { count, json } = commandLine()
    .parse(argv, { from: "user" })
    .opts<{ readonly count: number; readonly json?: true }>();
  const world = await startDecidedChain(count, {
    progress: (done) => process.stderr.write(`${done} of ${count} decisions made\n`),
  });
  try {
    const report = await compare(world);
    const { missed, ...figures } = report;
    process.stdout.write(json ? `${JSON.stringify(figures)}\n` : asText(figures));
    for (const bound of missed) process.stderr.write(`FAILED: ${bound}\n`);
    return report.ok ? 0 : 1;
  } finally {
    await world.close();
  }
}

/** Measures each curve in a process of its own, over the same decisions. */
async function compare({ decisions, folder }: DecidedChain) {
  const victim = decisions[Math.floor(decisions.length / 2)] as Decided;
  const sound = decisions.filter((decided) => decided !== victim);
  const spoilt = await spoil(folder, victim);
  await writeFile(join(folder, SOUND_FILE), serialize(sound));
  const noble = await measureApart(folder, ["--conditions=noble"]);
  const rounds: [Measured, ...Measured[]] = [await measureApart(folder, [])];
  while (rounds.length < ROUNDS) rounds.push(await measureApart(folder, []));
  const fastest = medianRound(rounds);
  const audits = [noble, ...rounds].map(({ found }) => found);
  const isNamed = ({ broken, failures: [failure] }: VerifyJson): boolean =>
    broken === 1 && failure?.requestId === spoilt.requestId && failure.cid === spoilt.cid;
  const named = audits.every(isNamed);
  const proven = audits.every((found) => found.proven === sound.length);
  const timesNoble = noble.verify.cpuSeconds / fastest.verify.cpuSeconds;
  const missed = missedBounds(decisions.length, fastest.cpuRatio, timesNoble);
  return {
    ok: named && proven && (missed ?? []).length === 0,
    isJudged: missed !== null,
    decisions: decisions.length,
    signatures: fastest.found.signatures,
    spoilt,
    named,
    noble,
    fastest,
    timesNoble,
    missed: [
      ...(missed ?? []),
      ...(named ? [] : ["the spoilt block was not found and named"]),
      ...(proven ? [] : [`not all ${sound.length} sound decisions were proven`]),
    ],
  };
}

async function measureApart(folder: string, conditions: readonly string[]): Promise<Measured> {
  const script = join(import.meta.dirname, "measure.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [...conditions, script, folder], {
    maxBuffer: 64 << 20,
  });
  return JSON.parse(stdout) as Measured;
}

/** Flips one bit of one message in the store, unnoticed by everyone. */
async function spoil(folder: string, { attempt, blocks }: Decided) {
  const [, bytes] = blocks as readonly [Uint8Array, Uint8Array];
  const digest = sha256(bytes);
  const store = new LocalBlocks(join(folder, "blocks"));
  await store.open();
  await store.put(cidOf(digest), bytes.with(40, (bytes[40] as number) ^ 1));
  return { requestId: String(attempt.request.id), cid: cidString(digest) };
}

function asText(report: Omit<Awaited<ReturnType<typeof compare>>, "missed">): string {
  const { noble, fastest, spoilt } = report;
  const line = (name: string, { wallSeconds, cpuSeconds, perSecond }: Rate): string =>
    `  ${name}: ${perSecond.toFixed(1)} decisions per second (${wallSeconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time)`;
  const linesOf = ({ curve, verify, baseline, cpuRatio, wallRatio }: Measured): readonly string[] => [
    `signatures by ${curve}`,
    line("conclave verify --since 0", verify),
    line("hashes and signatures once", baseline),
    `  ratio of processor times ${cpuRatio.toFixed(2)}, of wall times ${wallRatio.toFixed(2)}`,
  ];
  const judged = report.isJudged ? "" : ` (not judged: fewer than ${LEAST_JUDGED} decisions)`;
  return [
    `${report.decisions} decisions, ${report.signatures} signatures, one thread that verifies`,
    ...linesOf(noble),
    ...linesOf(fastest),
    `${fastest.curve}: ${report.timesNoble.toFixed(1)} times the decisions of noble per second of processor time, at least ${MIN_FASTER}; ratio at most ${MAX_RATIO}${judged}`,
    `the spoilt block ${spoilt.cid} of request ${spoilt.requestId}: ${report.named ? "found and named" : "NOT FOUND"}`,
    "",
  ].join("\n");
}
