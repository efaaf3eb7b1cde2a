// Measures one curve in a process of its own, over decisions that the bench has made:
//   node [--conditions=noble] measure.ts <folder>
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { deserialize } from "node:v8";
import { runCli } from "../../../agents/cli/run-cli.ts";
import { sha256 } from "../../../agents/core/encoding/bytes.ts";
import { recoverSigner } from "../../../agents/core/encoding/digest.ts";
import { secp256k1 } from "../../../agents/core/encoding/secp256k1.ts";
import { decodeMessage } from "../../../agents/core/encoding/transcript.ts";
import { decisionDigest, messageDigest } from "../../../agents/core/encoding/typed-data.ts";
import type { Digest, Hex, Message } from "../../../agents/core/types.ts";
import type { Decided } from "../../../devnet/decided-chain.ts";
import { WARM_UP } from "./bounds.ts";
import { SOUND_FILE, type Measured, type Times, type VerifyJson } from "./measured.ts";

async function measure(folder: string): Promise<Measured> {
  await warmUp(folder);
  const before = await checkHalf(folder, "first");
  const { found, ...verified } = await verify(folder, ["--since", "0"]);
  const after = await checkHalf(folder, "second");
  const baseline = {
    wallSeconds: before.wallSeconds + after.wallSeconds,
    cpuSeconds: before.cpuSeconds + after.cpuSeconds,
  };
  return {
    curve: secp256k1.library,
    verify: { ...verified, perSecond: (found.proven + found.broken) / verified.wallSeconds },
    baseline: { ...baseline, perSecond: (before.decisions + after.decisions) / baseline.wallSeconds },
    cpuRatio: verified.cpuSeconds / baseline.cpuSeconds,
    wallRatio: verified.wallSeconds / baseline.wallSeconds,
    found,
  };
}

/** Reads its half for itself, so that the collector has none of it to mark while `verify` is timed. */
async function checkHalf(folder: string, half: "first" | "second"): Promise<Times & { readonly decisions: number }> {
  const sound = await soundOf(folder);
  const middle = Math.floor(sound.length / 2);
  const decoded = (half === "first" ? sound.slice(0, middle) : sound.slice(middle)).map(decodedOf);
  return { decisions: decoded.length, ...(await timed(async () => checkOnce(decoded))) };
}

async function warmUp(folder: string): Promise<void> {
  const first = (await soundOf(folder)).slice(0, WARM_UP);
  checkOnce(first.map(decodedOf));
  const idOf = (index: number): string => String(first.at(index)?.attempt.request.id);
  await verify(folder, ["--from", idOf(0), "--to", idOf(-1)]);
}

async function soundOf(folder: string): Promise<readonly Decided[]> {
  return deserialize(await readFile(join(folder, SOUND_FILE))) as readonly Decided[];
}

async function verify(folder: string, selection: readonly string[]): Promise<Times & { readonly found: VerifyJson }> {
  let printed = "";
  const args = ["verify", ...selection, "--jobs", "1", "--json", "--deployment", "deployment.json", "--store", "."];
  const times = await timed(() =>
    runCli(args, {
      stdout: (text) => void (printed += text),
      stderr: (text) => void process.stderr.write(text),
      environment: {},
      cwd: folder,
      signal: new AbortController().signal,
    }),
  );
  const found = JSON.parse(printed) as VerifyJson | { readonly error: unknown };
  if ("error" in found) throw new Error(printed);
  return { found, ...times };
}

type Decoded = Decided & { readonly messages: readonly Message[] };

function decodedOf(decided: Decided): Decoded {
  const messages = decided.blocks.slice(1).map((bytes) => decodeMessage(bytes));
  return { ...decided, messages: messages.filter((message) => message !== null) };
}

function checkOnce(decisions: readonly Decoded[]): void {
  for (const { attempt, certificate, blocks, messages } of decisions) {
    for (const bytes of blocks) sha256(bytes);
    for (const { header, signature } of messages) requireSigned(messageDigest(attempt, header), signature);
    const digest = decisionDigest(attempt, certificate.decision);
    for (const { signature } of certificate.signatures) requireSigned(digest, signature);
  }
}

function requireSigned(digest: Digest, signature: Hex): void {
  if (recoverSigner(digest, signature) === null) throw new Error("a signature of the bench's own is bad");
}

async function timed(action: () => Promise<unknown>): Promise<Times> {
  const started = performance.now();
  const before = process.cpuUsage();
  await action();
  const { user, system } = process.cpuUsage(before);
  return { wallSeconds: (performance.now() - started) / 1_000, cpuSeconds: (user + system) / 1_000_000 };
}

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("measure: give a folder");
process.stdout.write(JSON.stringify(await measure(folder)));
