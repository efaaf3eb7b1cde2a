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
import { decision } from "./decision/decision.ts";
import { delegate } from "./delegation/delegate.ts";
import { delegations } from "./delegation/delegations.ts";
import { undelegate } from "./delegation/undelegate.ts";
import { doctor } from "./doctor/doctor.ts";
import { evidenceClaim } from "./evidence/claim.ts";
import { evidenceList } from "./evidence/list.ts";
import { evidenceSubmit } from "./evidence/submit.ts";
import { history } from "./history/history.ts";
import { stats } from "./history/stats.ts";
import { gc } from "./pin/gc.ts";
import { pin } from "./pin/pin.ts";
import { pinningList } from "./pin/pinning-list.ts";
import { pinningRemove } from "./pin/pinning-remove.ts";
import { serve } from "./pin/serve.ts";
import { unpin } from "./pin/unpin.ts";
import { listProtocols } from "./protocols/protocols.ts";
import { request } from "./request/request.ts";
import { subscriptionAccept } from "./subscription/accept.ts";
import { subscriptionConsumer } from "./subscription/consumer.ts";
import { subscriptionCreate } from "./subscription/create.ts";
import { subscriptionFund } from "./subscription/fund.ts";
import { subscriptionShow } from "./subscription/show.ts";
import { subscriptionTransfer } from "./subscription/transfer.ts";
import { subscriptionWithdraw } from "./subscription/withdraw.ts";
import { transcript } from "./transcript/transcript.ts";
import { verify } from "./verify/verify.ts";
import { withdraw } from "./withdraw/withdraw.ts";
import type { CommandSpec } from "./shared/command.ts";

/** Commands that are called by two words, e.g. `conclave agent run`. */
export interface CommandGroup {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandSpec<never>[];
}

/** Every command, in the order of the help. The file of a command declares its arguments, options, example and handler. */
export const commands: readonly (CommandGroup | CommandSpec<never>)[] = [
  {
    name: "agent",
    summary: "run an agent: a node that sits on committees",
    commands: [
      agentInit,
      agentRegister,
      agentRun,
      agentStatus,
      agentShow,
      agentUnstake,
      agentWithdraw,
      agentClaim,
      agentCommission,
    ],
  },
  {
    name: "evidence",
    summary: "proofs that a seat signed two messages for one slot",
    commands: [evidenceList, evidenceSubmit, evidenceClaim],
  },
  {
    name: "subscription",
    summary: "prepaid balances that consumers ask from",
    commands: [
      subscriptionCreate,
      subscriptionFund,
      subscriptionWithdraw,
      subscriptionConsumer,
      subscriptionTransfer,
      subscriptionAccept,
      subscriptionShow,
    ],
  },
  request,
  appeal,
  withdraw,
  delegate,
  undelegate,
  delegations,
  decision,
  verify,
  transcript,
  history,
  stats,
  pin,
  unpin,
  gc,
  {
    name: "pinning",
    summary: "transcripts at pinning services; `pin --service` asks for them",
    commands: [pinningList, pinningRemove],
  },
  serve,
  listProtocols,
  doctor,
  calibrate,
];
