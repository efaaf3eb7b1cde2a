/** File of the decisions that are not spoilt, for the measuring processes. */
export const SOUND_FILE = "sound.bin";

export interface Times {
  readonly wallSeconds: number;
  /** CPU time of all threads of the process. */
  readonly cpuSeconds: number;
}

export interface Rate extends Times {
  /** Decisions per second. */
  readonly perSecond: number;
}

/** The fields of `conclave verify --json` that the bench reads. */
export interface VerifyJson {
  readonly proven: number;
  readonly broken: number;
  readonly signatures: number;
  readonly failures: readonly { readonly requestId: string; readonly cid: string }[];
}

/** The figures of one curve. */
export interface Measured {
  readonly curve: string;
  /** `conclave verify --since 0 --jobs 1`. */
  readonly verify: Rate;
  /** Each block and each signed message hashed, and each signer recovered, once. */
  readonly baseline: Rate;
  readonly cpuRatio: number;
  readonly wallRatio: number;
  readonly found: VerifyJson;
}
