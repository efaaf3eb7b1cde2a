// Evidence.
import { EquivocationProven, SlasherDeployed } from "../generated/Slasher/Slasher";
import { Evidence, Request } from "../generated/schema";
import { eventId, faultOf } from "./names";
import { Tally } from "./statistics";
import { loadAccount, loadAgent, loadDeployment } from "./stores";

export function handleSlasherDeployed(event: SlasherDeployed): void {
  const deployment = loadDeployment();
  deployment.slasher = event.address;
  deployment.save();
}

/** The registry's `StakeSlashed` follows. */
export function handleEquivocationProven(event: EquivocationProven): void {
  const evidence = new Evidence(eventId(event));
  const request = Request.load(event.params.requestId.toString())!;
  evidence.agent = loadAgent(event.params.agentId).id;
  evidence.request = request.id;
  evidence.requestHash = event.params.requestHash;
  evidence.attempt = event.params.attempt.toI32();
  evidence.fault = faultOf(event.params.fault);
  evidence.reporter = loadAccount(event.params.reporter).id;
  evidence.timestamp = event.block.timestamp;
  evidence.block = event.block.number;
  evidence.logIndex = event.logIndex;
  evidence.transaction = event.transaction.hash;
  evidence.save();
  const tally = new Tally();
  tally.evidence = 1;
  tally.count(request.protocol, event.block.timestamp);
  const deployment = loadDeployment();
  deployment.lastEvidence = evidence.id;
  deployment.save();
}
