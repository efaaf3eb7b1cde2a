import { Command, CommanderError } from "commander";
import { ConclaveError } from "../core/errors.ts";
import { agentClaim } from "./agent/claim.ts";
import { agentCommission } from "./agent/commission.ts";
import { agentInit } from "./agent/init.ts";
import { agentRegister } from "./agent/register.ts";
import { agentRun } from "./agent/run.ts";
import { agentShow } from "./agent/show.ts";
import { agentStatus } from "./agent/status.ts";
import { agentUnstake } from "./agent/unstake.ts";
import { agentWithdraw } from "./agent/withdraw.ts";
import { appeal } from "./appeal/appeal.ts";
import { calibrate } from "./calibrate/calibrate.ts";
import { addCommand, type CliHost } from "./shared/command.ts";
import { delegate } from "./delegation/delegate.ts";
import { delegations } from "./delegation/delegations.ts";
import { doctor } from "./doctor/doctor.ts";
import { evidenceClaim } from "./evidence/claim.ts";
import { evidenceList } from "./evidence/list.ts";
import { evidenceSubmit } from "./evidence/submit.ts";
import { gc } from "./pin/gc.ts";
import { decision } from "./decision/decision.ts";
import { history } from "./history/history.ts";
import { printable, toJson } from "./shared/output.ts";
import { pin } from "./pin/pin.ts";
import { pinningList } from "./pin/pinning-list.ts";
import { pinningRemove } from "./pin/pinning-remove.ts";
import { listProtocols } from "./protocols/protocols.ts";
import { isUsage, wayOut, wayOutOf } from "./shared/reasons.ts";
import { request } from "./request/request.ts";
import { stats } from "./history/stats.ts";
import { serve } from "./pin/serve.ts";
import { subscriptionAccept } from "./subscription/accept.ts";
import { subscriptionConsumer } from "./subscription/consumer.ts";
import { subscriptionCreate } from "./subscription/create.ts";
import { subscriptionFund } from "./subscription/fund.ts";
import { subscriptionShow } from "./subscription/show.ts";
import { subscriptionTransfer } from "./subscription/transfer.ts";
import { subscriptionWithdraw } from "./subscription/withdraw.ts";
import { transcript } from "./transcript/transcript.ts";
import { undelegate } from "./delegation/undelegate.ts";
import { unpin } from "./pin/unpin.ts";
import { verify } from "./verify/verify.ts";
import { withdraw } from "./withdraw/withdraw.ts";

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;
const EXIT_INTERRUPTED = 130;

/** Runs one command line (without the program's name) and resolves with the exit code; never rejects. */
export async function runCli(argv: readonly string[], host: CliHost): Promise<number> {
  let code = 0;
  const program = createProgram(host, (set) => (code = set));
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, argv.includes("--json"), host);
  }
}

function createProgram(host: CliHost, exit: (code: number) => void): Command {
  const program = new Command("conclave")
    .description(
      "An on-chain oracle whose answers are argued, voted and signed by a committee of language-model agents.",
    )
    .exitOverride()
    .configureOutput({ writeOut: host.stdout, writeErr: () => undefined });
  const agent = program.command("agent").description("run an agent: a node that sits on committees");
  addCommand(agent, agentInit, host, exit);
  addCommand(agent, agentRegister, host, exit);
  addCommand(agent, agentRun, host, exit);
  addCommand(agent, agentStatus, host, exit);
  addCommand(agent, agentShow, host, exit);
  addCommand(agent, agentUnstake, host, exit);
  addCommand(agent, agentWithdraw, host, exit);
  addCommand(agent, agentClaim, host, exit);
  addCommand(agent, agentCommission, host, exit);
  const evidence = program.command("evidence").description("proofs that a seat signed two messages for one slot");
  addCommand(evidence, evidenceList, host, exit);
  addCommand(evidence, evidenceSubmit, host, exit);
  addCommand(evidence, evidenceClaim, host, exit);
  const subscription = program.command("subscription").description("prepaid balances that consumers ask from");
  addCommand(subscription, subscriptionCreate, host, exit);
  addCommand(subscription, subscriptionFund, host, exit);
  addCommand(subscription, subscriptionWithdraw, host, exit);
  addCommand(subscription, subscriptionConsumer, host, exit);
  addCommand(subscription, subscriptionTransfer, host, exit);
  addCommand(subscription, subscriptionAccept, host, exit);
  addCommand(subscription, subscriptionShow, host, exit);
  addCommand(program, request, host, exit);
  addCommand(program, appeal, host, exit);
  addCommand(program, withdraw, host, exit);
  addCommand(program, delegate, host, exit);
  addCommand(program, undelegate, host, exit);
  addCommand(program, delegations, host, exit);
  addCommand(program, decision, host, exit);
  addCommand(program, verify, host, exit);
  addCommand(program, transcript, host, exit);
  addCommand(program, history, host, exit);
  addCommand(program, stats, host, exit);
  addCommand(program, pin, host, exit);
  addCommand(program, unpin, host, exit);
  addCommand(program, gc, host, exit);
  const pinning = program
    .command("pinning")
    .description("transcripts at pinning services; `pin --service` asks for them");
  addCommand(pinning, pinningList, host, exit);
  addCommand(pinning, pinningRemove, host, exit);
  addCommand(program, serve, host, exit);
  addCommand(program, listProtocols, host, exit);
  addCommand(program, doctor, host, exit);
  addCommand(program, calibrate, host, exit);
  return program;
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly way: string | null;
  readonly data: object;
  readonly exitCode: number;
}

function reportError(error: unknown, json: boolean, host: CliHost): number {
  const failure = failureOf(error, host.signal);
  if (failure === null) return 0;
  const { code, message, way, data, exitCode } = failure;
  if (json) host.stdout(`${toJson({ error: { code, message, data } })}\n`);
  else host.stderr(`error ${code}: ${printable(message)}\n${way === null ? "" : `way out: ${way}\n`}`);
  return exitCode;
}

/** Null for --help and --version, which commander reports as errors. */
function failureOf(error: unknown, signal: AbortSignal): Failure | null {
  if (error instanceof CommanderError) return usageFailure(error);
  if (signal.aborted)
    return { code: "INTERRUPTED", message: "stopped by a signal", way: null, data: {}, exitCode: EXIT_INTERRUPTED };
  if (error instanceof ConclaveError) {
    const { code, message, data } = error;
    return { code, message, way: wayOutOf(error), data, exitCode: isUsage(code) ? EXIT_USAGE : EXIT_FAILURE };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { code: "UNEXPECTED", message, way: "report it: this is a bug", data: {}, exitCode: EXIT_FAILURE };
}

function usageFailure({ code, message, exitCode }: CommanderError): Failure | null {
  if (exitCode === 0) return null;
  if (code === "commander.help")
    return { code: "USAGE", message: "name a command", way: wayOut.USAGE, data: {}, exitCode: EXIT_USAGE };
  return { code: "USAGE", message: message.replace(/^error: /, ""), way: wayOut.USAGE, data: {}, exitCode: EXIT_USAGE };
}
