// What suites do with a tested oracle, see `tested-oracle.ts`: ask by a consumer, and look at what came of it.
import { ZeroHash, hexlify, toBeHex, toUtf8Bytes } from "ethers";

import { ask, termsFor, tooEarly, unanswerable, type Asked } from "../../support/contracts/course.ts";
import { Currency, packTerms, type Terms } from "../../support/contracts/typed-data.ts";
import { freeTokens } from "../../support/contracts/world.ts";
import type { Answer, TestedOracle } from "./tested-oracle.ts";

export const Mode = { Accept: 0, Revert: 1, BurnGas: 2, ReturnBomb: 3, RevertBomb: 4, Reenter: 5 } as const;
export const confidence = 900_000;
const bit = (value: bigint, text: string): Answer => ({ value, text, confidence });
export const [yes, no] = [bit(1n, "yes"), bit(0n, "no")];
const nonAnswer = ({ status, outcome }: typeof unanswerable | typeof tooEarly): Answer => ({
  status,
  value: 0n,
  text: "",
  outcome,
  confidence,
});
export const [unknown, early] = [nonAnswer(unanswerable), nonAnswer(tooEarly)];
export const coin = 10n ** 18n;
export const day = 86_400;

/** Ends a request. */
export type End = (tested: TestedOracle, asked: Asked) => Promise<unknown>;

/** What the consumer and anybody else can see after the request ended. */
export async function seen({ world, recorder, subscription }: TestedOracle, { request }: Asked) {
  const { tokenBalance } = await world.oracle.subscriptionOf(subscription);
  return {
    received: await recorder.getFunction("received")(),
    status: [...(await world.oracle.statusOf(request.id))],
    tokens: tokenBalance as bigint,
  };
}

/** Asks by the consumer that records its callback. */
export function record(
  { world, recorder, subscription }: TestedOracle,
  overrides: Partial<Terms> = {},
): Promise<Asked> {
  const terms = packTerms(termsFor({ callbackGasLimit: 500_000, fee: coin, ...overrides }));
  const by = (_: string, question: Uint8Array) =>
    recorder.getFunction("ask").send(world.oracle.target, subscription, terms, question);
  return ask(world, {}, "Is it?", by);
}

/** Asks by the consumer that misbehaves. */
export async function misbehave(
  { world, hostile, subscription }: TestedOracle,
  mode: number,
  overrides: Partial<Terms> = {},
) {
  await hostile.getFunction("setMode")(mode);
  const terms = termsFor({ callbackGasLimit: 200_000, fee: coin, ...overrides });
  const by = (_: string, question: Uint8Array) => hostile.getFunction("ask").send(subscription, terms, question);
  return ask(world, {}, "Is it?", by);
}

/** What the consumer is called back with; without an answer, that the request ended without a decision or hung. */
export const told = ({ recorder }: TestedOracle, { request }: Asked, status: number, answer?: Answer): string =>
  recorder.interface.encodeFunctionData("onDecision", [
    request.id,
    status,
    answer?.outcome ?? (answer === undefined ? ZeroHash : toBeHex(BigInt.asUintN(256, answer.value), 32)),
    answer === undefined ? "0x" : hexlify(toUtf8Bytes(answer.text)),
    answer?.confidence ?? 0,
  ]);

const prices = { ...freeTokens, unitPrice: 3n * coin + 1n, treasuryPpm: 50_001n };

/** Asks at prices above 0, ends the request, and tells what it cost in tokens and its status. */
export async function costOf(tested: TestedOracle, terms: Partial<Terms>, end: End) {
  const { oracle } = tested.world;
  await oracle.setPrices(Currency.Token, prices);
  const before = (await oracle.subscriptionOf(tested.subscription)).tokenBalance as bigint;
  const fee = ((await oracle.quote(packTerms(termsFor(terms)))) as bigint) + 12_345n;
  const asked = await record(tested, { ...terms, fee });
  await end(tested, asked);
  const { tokens, status } = await seen(tested, asked);
  return { spent: before - tokens, status };
}
