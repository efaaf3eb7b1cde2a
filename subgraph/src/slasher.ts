// Evidence.
import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";
import { DecisionOverturned, EquivocationProven, SlasherDeployed } from "../generated/Slasher/Slasher";
import { Evidence, Request } from "../generated/schema";
import { eventId, faultOf } from "./names";
import { Tally } from "./statistics";
import { loadAccount, loadAgent, loadDeployment } from "./stores";

export function handleSlasherDeployed(event: SlasherDeployed): void {
  const deployment = loadDeployment();
  deployment.slasher = event.address;
  deployment.save();
}

export function handleEquivocationProven(event: EquivocationProven): void {
  const request = Request.load(event.params.requestId.toString())!;
  const evidence = record(request, event.params.agentId, event.params.attempt, event.params.reporter, event);
  evidence.requestHash = event.params.requestHash;
  evidence.fault = faultOf(event.params.fault);
  evidence.save();
}

export function handleDecisionOverturned(event: DecisionOverturned): void {
  const request = Request.load(event.params.requestId.toString())!;
  const evidence = record(request, event.params.agentId, event.params.attempt, event.params.appellant, event);
  evidence.requestHash = request.hash;
  evidence.fault = "Overturned";
  evidence.save();
}

/** Notes evidence whose hash and fault the caller adds. The registry's `StakeSlashed` follows. */
function record(
  request: Request,
  agentId: BigInt,
  attempt: BigInt,
  reporter: Address,
  event: ethereum.Event,
): Evidence {
  const evidence = new Evidence(eventId(event));
  evidence.agent = loadAgent(agentId).id;
  evidence.request = request.id;
  evidence.attempt = attempt.toI32();
  evidence.reporter = loadAccount(reporter).id;
  evidence.timestamp = event.block.timestamp;
  evidence.block = event.block.number;
  evidence.logIndex = event.logIndex;
  evidence.transaction = event.transaction.hash;
  const tally = new Tally();
  tally.evidence = 1;
  tally.count(request.protocol, event.block.timestamp);
  const deployment = loadDeployment();
  deployment.lastEvidence = evidence.id;
  deployment.save();
  return evidence;
}
