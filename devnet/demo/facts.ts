import type { Protocol } from "../../agents/core/protocol.ts";
import type { Hex } from "../../agents/core/types.ts";
import type { Quotation } from "./quotations.ts";

export interface DemoDecision {
  readonly requestId: string;
  readonly question: string;
  readonly kind: string;
  readonly status: string;
  readonly outcome: Hex;
  readonly answer: string;
  /** Parts per million. */
  readonly confidence: number;
  /**
   * The documents that the question names. Under escalating, an answer must quote one of them in the phase of claims
   * that cite.
   */
  readonly documents: readonly { readonly cid: string; readonly text: string }[];
  /** What answers quote of the question's pages, the best witnessed first; empty where it names none. */
  readonly quotations: readonly Quotation[];
  readonly expected: string;
  /** True if the answer is the expected one. */
  readonly correct: boolean;
  readonly seats: readonly {
    readonly seat: number;
    readonly agentId: number;
    readonly signer: string;
    readonly reputation: number;
  }[];
  readonly signers: readonly number[];
  /** Deliberation rounds until the decision; under hashgraph, events of the seat that said most. */
  readonly rounds: number;
  readonly commitGas: number;
  readonly requestGas: number;
  readonly commitTx: Hex;
  readonly transcript: string;
  readonly callbackSucceeded: boolean;
  readonly verified: boolean;
  /** The argument, as `conclave transcript` tells it. */
  readonly argument: string;
}

/** What the demo did and read from the chain. */
export interface DemoFacts {
  readonly protocol: Protocol;
  /** Name of the agents' model. */
  readonly model: string;
  readonly decisions: readonly DemoDecision[];
  readonly agents: readonly {
    readonly agentId: number;
    readonly signer: string;
    readonly lies: boolean;
    readonly reputation: number;
    /** Tokens that its operator can claim. */
    readonly earned: string;
    /** Tokens of its stake that proofs of equivocation took. */
    readonly slashed: string;
  }[];
  readonly durationsMs: {
    readonly chain: number;
    readonly agents: number;
    readonly decisions: number;
    readonly verify: number;
    readonly total: number;
  };
  readonly deploymentFile: string;
}
