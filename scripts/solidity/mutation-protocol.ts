// What mutation-run.ts and the process of mutation-worker.ts say to each other.

export interface Ask {
  /** Of mocha or Solidity tests. */
  readonly file: string;
  /** Without it nothing runs: the answer lists the tests of a mocha file. Solidity tests run a file at a time. */
  readonly test?: string;
  /** Solidity tests to leave out. */
  readonly without?: readonly string[];
  readonly mutant: number;
}

export interface Answer {
  readonly tests: readonly string[];
  /** Of tests that failed. */
  readonly failures: readonly string[];
  /** Mutants whose switch was read. */
  readonly hits: readonly number[];
  /** Memory of the process. */
  readonly bytes: number;
}

/** Of a test that fails in a long loop Hardhat keeps every step: a process with so much ends itself, with this code. */
export const mostBytes = 4 * 2 ** 30;
export const tooMuchMemory = 77;
