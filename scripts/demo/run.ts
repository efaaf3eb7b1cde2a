import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createTestClient, createWalletClient, http, parseEther, publicActions, walletActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { createChainReader } from "../../agents/adapters/chain/reader.ts";
import { cidString } from "../../agents/core/codec.ts";
import type { Hex, RequestId, SeatInfo } from "../../agents/core/types.ts";
import type { ChainEvent, ChainReader } from "../../agents/ports/chain.ts";
import { deploy, type Deployment } from "../lib/deploy.ts";
import { startLocalChain, type LocalChain } from "../lib/local-chain.ts";
import { setUpAgent, startAgent, stopProcess, type DemoAgent } from "./agents.ts";
import { openDesk, type Asked, type Desk } from "./consumer.ts";
import type { DemoQuestion } from "./questions.ts";

const root = join(import.meta.dirname, "..", "..");
const AGENTS = 5;
const COMMITTEE = 5;
const START_TIMEOUT_MS = 90_000;
const DECIDE_TIMEOUT_MS = 120_000;
const FEE = parseEther("1");
const STAKE = parseEther("1000");

export interface DemoDecision {
  readonly requestId: string;
  readonly question: string;
  readonly kind: string;
  readonly status: string;
  readonly outcome: Hex;
  readonly answer: string;
  readonly expected: string;
  readonly seats: readonly {
    readonly seat: number;
    readonly agentId: number;
    readonly signer: string;
    readonly reputation: number;
  }[];
  readonly signers: readonly number[];
  /** Deliberation rounds until the decision. */
  readonly rounds: number;
  readonly commitGas: number;
  readonly requestGas: number;
  readonly commitTx: Hex;
  readonly transcript: string;
  readonly callbackSucceeded: boolean;
  readonly verified: boolean;
}

export interface DemoReport {
  readonly decisions: readonly DemoDecision[];
  readonly agents: readonly {
    readonly agentId: number;
    readonly signer: string;
    readonly lies: boolean;
    readonly reputation: number;
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
