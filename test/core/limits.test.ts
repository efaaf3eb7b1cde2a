import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { limits } from "../../agents/core/limits.ts";
import { SLASH_FACTOR_PPM } from "../../agents/core/protocols/mbft/config.ts";
import { NO_SEED_BLOCK, TOO_EARLY_WAIT } from "../../agents/core/request/rounds.ts";
import { ONE_PPM } from "../../agents/core/types.ts";
import { constant } from "../support/contract-limits.ts";

describe("bounds that TypeScript and Solidity share", () => {
  it("are the same on both sides", () => {
    assert.deepEqual(
      {
        question: limits.questionBytes,
        answer: limits.answerBytes,
        short: limits.shortAnswerBytes,
        least: limits.minCommittee,
        most: limits.maxCommittee,
        seats: limits.requestSeats,
        appeals: limits.maxAppeals,
        retries: limits.maxRetries,
        finality: limits.maxFinality,
        cancelBlocks: limits.cancelBlocks,
        callbackGas: limits.callbackGas,
        decimals: limits.decimals,
        leastOptions: limits.minOptions,
        mostOptions: limits.maxOptions,
        endpoint: limits.endpointBytes,
        shortest: limits.minDurationSeconds,
        longest: limits.maxDurationSeconds,
        delay: limits.maxDelaySeconds,
        wait: TOO_EARLY_WAIT,
        noSeed: Number(NO_SEED_BLOCK),
        slashes: limits.maxSlashes,
        factor: SLASH_FACTOR_PPM,
        one: ONE_PPM,
      },
      {
        question: constant("MAX_QUESTION_BYTES"),
        answer: constant("MAX_ANSWER_BYTES"),
        short: constant("MAX_SHORT_ANSWER_BYTES"),
        least: constant("MIN_COMMITTEE"),
        most: constant("MAX_COMMITTEE"),
        seats: constant("MAX_REQUEST_SEATS"),
        appeals: constant("MAX_APPEALS"),
        retries: constant("MAX_RETRIES"),
        finality: constant("MAX_FINALITY"),
        cancelBlocks: constant("CANCEL_BLOCKS"),
        callbackGas: constant("MAX_CALLBACK_GAS"),
        decimals: constant("MAX_DECIMALS"),
        leastOptions: constant("MIN_OPTIONS"),
        mostOptions: constant("MAX_OPTIONS"),
        endpoint: constant("MAX_ENDPOINT_BYTES"),
        shortest: constant("MIN_DURATION"),
        longest: constant("MAX_DURATION"),
        delay: constant("MAX_DELAY"),
        wait: constant("TOO_EARLY_WAIT"),
        noSeed: 2 ** 48 - 1,
        slashes: constant("MAX_SLASHES"),
        factor: constant("SLASH_FACTOR_PPM"),
        one: constant("REPUTATION_ONE"),
      },
    );
  });
});
