/** Code of an error. docs/reasons.md explains every code; a test compares it with this union. */
export type ErrorCode =
  | "CONFIG_INVALID"
  | "CONFIG_MISSING"
  | "KEYSTORE_MISSING"
  | "KEYSTORE_EXISTS"
  | "KEYSTORE_PASSWORD_WRONG"
  | "KEYSTORE_PASSWORD_MISSING"
  | "CHAIN_UNREACHABLE"
  | "CHAIN_WRONG_ID"
  | "CHAIN_NO_CONTRACT"
  | "CHAIN_NO_BEACON"
  | "CHAIN_REVERTED"
  | "CHAIN_TIMEOUT"
  | "CHAIN_REORGED"
  | "CHAIN_HEADER_UNKNOWN"
  | "DEPLOYMENT_UNFINISHED"
  | "STAKE_MISSING"
  | "BALANCE_TOO_LOW"
  | "GAS_TOO_DEAR"
  | "AGENT_NOT_REGISTERED"
  | "PROTOCOL_UNKNOWN"
  | "QUESTION_TOO_LONG"
  | "TERMS_INVALID"
  | "SOURCE_UNREADABLE"
  | "REQUEST_UNKNOWN"
  | "SUBSCRIPTION_UNKNOWN"
  | "CANCEL_IMPOSSIBLE"
  | "APPEAL_IMPOSSIBLE"
  | "OUTCOME_IMPOSSIBLE"
  | "SLASH_IMPOSSIBLE"
  | "EVIDENCE_UNPROVABLE"
  | "MODEL_FILE_MISSING"
  | "MODEL_FILE_BROKEN"
  | "MODEL_DIGEST_WRONG"
  | "MODEL_CONTEXT_TOO_SMALL"
  | "MODEL_TEMPLATE_MISSING"
  | "MODEL_PULL_FAILED"
  | "DISK_FULL"
  | "CALIBRATION_WRONG"
  | "MODEL_UNREACHABLE"
  | "MODEL_FAILED"
  | "JOURNAL_CORRUPT"
  | "JOURNAL_LOCKED"
  | "JOURNAL_CONFLICT"
  | "BLOCK_MISSING"
  | "BLOCK_INVALID"
  | "STATE_LOCKED"
  | "STORE_LOCKED"
  | "STORE_INVALID"
  | "PIN_UNKNOWN"
  | "CAR_INVALID"
  | "PINNING_FAILED"
  | "TRANSCRIPT_INVALID"
  | "TRANSCRIPT_FOREIGN"
  | "SUBGRAPH_UNREACHABLE"
  | "SUBGRAPH_FAILED"
  | "SUBGRAPH_INVALID"
  | "SUBGRAPH_BEHIND"
  | "SUBGRAPH_WRONG_CHAIN"
  | "NETWORK_FAILED"
  | "USAGE";

/** An error as data: callers branch on `code`. The message begins with a verb and names the field, the value and the way out. */
export class ConclaveError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, string | number | boolean>>;

  constructor(
    code: ErrorCode,
    message: string,
    data: Readonly<Record<string, string | number | boolean>> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "ConclaveError";
    this.code = code;
    this.data = data;
  }
}

/** The message of a thrown value: an error's own message, else the value as a string. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
