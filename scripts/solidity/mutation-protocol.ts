// Messages between mutation-run.ts and the process of mutation-worker.ts.

export interface Ask {
  /** File of mocha or Solidity tests. */
  readonly file: string;
  /**
   * Name of the test. Without it nothing runs, and the answer lists the tests of a mocha file. Solidity tests run a
   * file at a time.
   */
  readonly test?: string;
  /** Solidity tests to leave out. */
  readonly without?: readonly string[];
  /** Only Solidity tests whose name begins like this. */
  readonly prefix?: string;
  readonly mutant: number;
}

export interface Answer {
  readonly tests: readonly string[];
  /** Errors of tests that failed; of Solidity tests with the name before them: "name: reason". */
  readonly failures: readonly string[];
  /** Mutants whose switch was read. */
  readonly hits: readonly number[];
  /** Memory of the process. */
  readonly bytes: number;
}

/**
 * Most bytes of a process. Hardhat keeps every step of a test that fails in a long loop, up to 10.5 GB so far; a process
 * above this limit ends itself with the code below.
 */
export const mostBytes = 12 * 2 ** 30;
export const tooMuchMemory = 77;
