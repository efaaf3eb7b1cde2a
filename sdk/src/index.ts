export {
  createConclave,
  type Ask,
  type Asked,
  type Conclave,
  type ConclaveActions,
  type ConclaveConfig,
  type Quote,
  type RequestReading,
} from "./conclave.ts";
export type { ConclaveDeployment } from "./connection.ts";
export { ConclaveError, type ConclaveErrorCode } from "./errors.ts";
export type { FollowOptions, RequestProgress, RequestUpdate } from "./follow.ts";
export type { FaultsOptions, FoundFaults } from "./faults.ts";
export type { HistoryOptions, HistoryPage } from "./history.ts";
export { quorumOf } from "../../agents/core/quorum.ts";
export { PROTOCOL_CODES } from "./protocol-codes.ts";
export { questionProblem, termsProblem, type AskedTerms, type ProtocolId } from "./terms.ts";
export type { TermWords } from "../../agents/core/request/term-rules.ts";
