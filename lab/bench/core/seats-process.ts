// Measures stepped decisions in a process of its own, so that signatures can be taken out of it:
//   node [--import ../../shared/no-signatures.ts] seats-process.ts <workload> <goal> <seconds> [verify]
import { perSecond } from "./measure.ts";
import { stepDecision } from "../../../sim/step-decision.ts";
import { steppedWorkload, workloads } from "./workloads.ts";

const [id, goal, seconds, verify] = process.argv.slice(2);
const workload = workloads.find((one) => one.id === id);
if (workload === undefined || (goal !== "deliberated" && goal !== "certified"))
  throw new Error("seats-process: give a workload, a goal and seconds");
const options = steppedWorkload(workload, goal, verify === "verify");
const { inputs, messages, modelCalls } = stepDecision(options);
const decisionsPerSecond = perSecond(() => {
  stepDecision(options);
  return { decisions: 1 };
}, Number(seconds));
process.stdout.write(JSON.stringify({ decisionsPerSecond, inputs, messages: messages.length, modelCalls }));
