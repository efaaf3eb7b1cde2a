import type { FoundFaults, HistoryPage, RequestUpdate } from "../../../sdk/src/index.ts";

/** Types of the SDK by the names that the dashboard uses. */
export type PastRequest = HistoryPage["requests"][number];
export type PastStatus = PastRequest["status"];
export type PastFault = FoundFaults["faults"][number];
export type Stage = RequestUpdate["stage"];
export type Decision = Extract<Stage, { kind: "decided" }>["decision"];
export type DecisionStatus = Decision["status"];
