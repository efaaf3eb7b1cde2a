// Measures stepped decisions in a process of its own, so that signatures can be taken out of it:
//   node [--import .../no-signatures.ts] seats-process.ts <workload> <goal> <seconds> [verify]
import { perSecond } from "./measure.ts";
import { benchAttempt, stepDecision, type Goal } from "./seats.ts";
import { workloads } from "./workloads.ts";

const [id, goal, seconds, verify] = process.argv.slice(2);
const workload = workloads.find((one) => one.id === id);
if (workload === undefined || (goal !== "deliberated" && goal !== "certified"))
  throw new Error("seats-process: give a workload, a goal and seconds");
const reached: Goal = goal;
const attempt = benchAttempt();
const stepped = stepDecision(workload, attempt, reached, verify === "verify");
const decisionsPerSecond = perSecond(() => {
  stepDecision(workload, attempt, reached, verify === "verify");
  return { decisions: 1 };
}, Number(seconds));
process.stdout.write(JSON.stringify({ decisionsPerSecond, ...stepped }));
