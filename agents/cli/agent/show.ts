import { openSubgraph } from "../../adapters/subgraph/subgraph.ts";
import { ConclaveError } from "../../core/errors.ts";
import { ABSENT, type AgentId } from "../../core/types.ts";
import type { AgentHistory, PastReputationChange, PastSeat } from "../../ports/history.ts";
import { formatAmount, parseInteger, unitOf, usage } from "../shared/arguments.ts";
import type { CommandSpec } from "../shared/command.ts";
import {
  compareWithChain,
  requireEndpoint,
  sourceText,
  subgraphFlags,
  type SubgraphFlags,
  type Units,
} from "../shared/subgraph-source.ts";
import { reputationText } from "../shared/decision-words.ts";
import { protocolName } from "../shared/protocol-words.ts";
import { skillText } from "../shared/skill.ts";
import { grid, percent, printable, rows, utc, type Row } from "../shared/output.ts";
import { amountsText } from "../shared/withdrawals.ts";

interface Options extends SubgraphFlags {
  readonly limit: string;
}

const MAX_AGENT = 2 ** 31 - 1;
const MAX_ENTRIES = 1_000;
const FULL = 1_000_000;
/** Bars from the lowest reputation to the highest. */
const BARS = "▁▂▃▄▅▆▇█";

export const agentShow: CommandSpec<Options> = {
  example:
    "conclave agent show 3 --subgraph http://127.0.0.1:8000/subgraphs/name/conclave\nconclave agent 3 --deployment deployments/31337.json",
  options: [
    { flags: "--limit <count>", description: `newest entries of each list, at most ${MAX_ENTRIES}`, default: "20" },
    ...subgraphFlags,
  ],
  run: async ({ args, options, host }) => {
    const agentId = agentIdOf(args[0] ?? "");
    const limit = parseInteger(options.limit, "--limit", 1, MAX_ENTRIES);
    const endpoint = await requireEndpoint(options, host);
    const said = await openSubgraph(endpoint).agent(agentId, limit, host.signal);
    const { answer, source, units } = await compareWithChain(endpoint, said, options, host);
    if (answer !== null) return { json: { source, ...answer }, text: textOf(answer, units, sourceText(source)) };
    throw new ConclaveError(
      "AGENT_NOT_REGISTERED",
      `Show agent ${agentId}: the subgraph knows none of that number up to block ${source.block}; correct the number`,
      { agentId, block: source.block },
    );
  },
};

/** Reads the agent's number. The text may also be a misspelt command of `agent`. */
function agentIdOf(text: string): AgentId {
  if (!/^\d{1,10}$/.test(text))
    throw usage("<id>", text, "give the number of an agent, or a command: see `conclave agent --help`");
  return parseInteger(text, "<id>", 1, MAX_AGENT) as AgentId;
}

function textOf(agent: AgentHistory, units: Units, source: string): string {
  const { seats, reputationChanges, pay, slashes } = agent;
  const sections = [
    rows(headRows(agent, units)),
    section("seats", seats.map(seatLine), [
      "request",
      "attempt",
      "seat",
      "decided",
      "protocol",
      "decision",
      "signed",
      "change",
      "share",
    ]),
    section("reputation", reputationChanges.map(changeLine), ["time", "before", "after", "change", "request"]),
    section(
      "earnings",
      pay.map(({ time, amount, currency, requestId, attempt, seat }) => [
        utc(time),
        formatAmount(amount, unitOf(currency, units.feeToken)),
        String(requestId),
        String(attempt),
        String(seat),
      ]),
      ["time", "pay", "request", "attempt", "seat"],
    ),
    section(
      "slashes",
      slashes.map(({ time, bonded, unbonding, fault, requestId, attempt, reporter }) => [
        utc(time),
        formatAmount(bonded + unbonding, units.stakeToken),
        fault ?? "unknown",
        requestId === null ? "unknown" : String(requestId),
        String(attempt ?? "unknown"),
        reporter,
      ]),
      ["time", "stake", "fault", "request", "attempt", "reporter"],
    ),
  ];
  return `${sections.join("\n\n")}\n\n${source}`;
}

function headRows(agent: AgentHistory, { feeToken, stakeToken }: Units): readonly Row[] {
  const state = agent.exited ? "out of the draw for good" : agent.active ? "active" : "not active";
  return [
    ["agent", `${agent.agentId} (${state}), registered ${utc(agent.registeredAt)}`],
    ["operator", agent.operator],
    ["signer", agent.signer],
    ["model", printable(agent.model)],
    ["endpoint", agent.endpoint === "" ? "none" : printable(agent.endpoint)],
    ["stake", `${formatAmount(agent.bonded, stakeToken)}, unbonding ${formatAmount(agent.unbonding, stakeToken)}`],
    ["skill", skillText(agent)],
    ["commission", percent(agent.commission)],
    ["reputation", `${percent(agent.reputation)} ${curve(agent)}`.trimEnd()],
    ["seats", `${agent.seatCount}, ${agent.signatureCount} signatures in decisions`],
    ["earned", amountsText(agent.earned, feeToken)],
    ["slashed", formatAmount(agent.slashed, stakeToken)],
  ];
}

/** Draws the reputation over the shown changes, the oldest first. */
function curve({ reputationChanges }: AgentHistory): string {
  const oldest = reputationChanges.at(-1);
  if (oldest === undefined) return "";
  const points = [oldest.before, ...reputationChanges.toReversed().map(({ after }) => after)];
  return points.map((ppm) => BARS[Math.min(BARS.length - 1, Math.floor((ppm / FULL) * BARS.length))]).join("");
}

function section(name: string, lines: readonly (readonly string[])[], head: readonly string[]): string {
  return lines.length === 0 ? `${name}: none` : `${name}\n${grid(head, lines)}`;
}

function seatLine({ requestId, attempt, seat, time, protocol, decision }: PastSeat): readonly string[] {
  const place = [String(requestId), String(attempt), String(seat), utc(time), protocolName(protocol)];
  const { status, signed, steps, share } = decision;
  return [
    ...place,
    status,
    signed ? "yes" : "no",
    reputationText(steps, share),
    share === ABSENT ? "absent" : String(share),
  ];
}

function changeLine({ time, before, after, steps, requestId }: PastReputationChange): readonly string[] {
  return [utc(time), percent(before), percent(after), reputationText(steps, 0), String(requestId)];
}
