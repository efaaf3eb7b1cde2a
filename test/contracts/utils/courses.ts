// Courses of a request that the tests of pay play.
import { hexlify, keccak256, toUtf8Bytes } from "ethers";

import { hung, no, tooEarly, unanswerable } from "../../support/contracts/course.ts";
import { word } from "../../support/contracts/typed-data.ts";
import type { SignedDecision, Terms } from "../../support/contracts/typed-data.ts";

const gwei = 10n ** 9n;

/** What a committee signs, and the gas price of its commit. */
export type Answer = Partial<SignedDecision> & { readonly gasPrice?: bigint };

const number = (value: bigint): Answer => ({
  outcome: word(BigInt.asUintN(256, value)),
  answer: hexlify(toUtf8Bytes("7")),
});

const text = (length: number): Answer => {
  const answer = hexlify(toUtf8Bytes("x".repeat(length)));
  return { answer, outcome: keccak256(answer) };
};

export const yes: Answer = {};

/** What a committee signs that could read nothing: all seats earn alike (PY6). */
const nothingRead = (seats: number): Answer => ({ ...unanswerable, shares: `0x${"01".repeat(seats)}` });

const [minimum, maximum] = [-(2n ** 255n), 2n ** 255n - 1n];

/** Courses of a request, each with a name and with the appeals that are upheld. */
export const courses: readonly (readonly [name: string, Partial<Terms>, readonly Answer[], readonly boolean[]])[] = [
  ["SE11: one round pays treasury, relayer and seats", {}, [yes], []],
  ["SE11, SE20: shares that differ, and a seat that was absent", {}, [{ shares: "0x01ff0003" }], []],
  ["SE11: no shares at all leave the rest with the asker", {}, [{ shares: "0x00000000" }], []],
  ["SE10: a hung committee earns half", {}, [hung], []],
  ["SE10: hung committees that are retried earn half, too", { retries: 2 }, [hung, hung, yes], []],
  ["SE13: the gas price is paid up to the cap", {}, [{ gasPrice: 500n * gwei }], []],
  ["SE13: a callback is the asker's, however much", { callbackGasLimit: 2_000_000 }, [{ gasPrice: 500n * gwei }], []],
  ["SE13: also of a committee that hung", { callbackGasLimit: 2_000_000 }, [{ ...hung, gasPrice: 500n * gwei }], []],
  ["SE13: the bytes of a text are the asker's", { kind: 3 }, [{ ...text(1_024), gasPrice: 500n * gwei }], []],
  ["SE13: also after a committee that hung", { kind: 3, retries: 1 }, [hung, { ...text(300), gasPrice: gwei }], []],
  ["SE14: what no appeal or retry needed comes back", { appeals: 2, retries: 3 }, [yes], []],
  ["SE12: a right appeal", { appeals: 1 }, [yes, no], [true]],
  ["SE12: a wrong appeal", { appeals: 1 }, [yes, yes], [false]],
  ["SE12: a wrong appeal and a right one", { appeals: 2 }, [yes, no, yes], [false, true]],
  ["SE12: two right appeals", { appeals: 2, kind: 1, options: 3 }, [yes, no, { outcome: word(2n) }], [true, true]],
  ["SE12: two wrong appeals", { appeals: 2 }, [yes, yes, yes], [false, false]],
  ["SE12: an appeal against a hung committee is right if the next one decides", { appeals: 1 }, [hung, yes], [true]],
  ["SE12: an appeal is lost when the last committee hangs", { appeals: 1 }, [yes, hung], [false]],
  ["SE12: hung upon hung overturns nothing", { appeals: 1 }, [hung, hung], [false]],
  ["SE10: a committee that finds no answer earns as one that answers", {}, [unanswerable], []],
  ["SE11: so does one that could read nothing", {}, [nothingRead(4)], []],
  [
    "SE12: an appeal against a non-answer is right if the next committee answers",
    { appeals: 1 },
    [tooEarly, yes],
    [true],
  ],
  [
    "SE12: an appeal against an answer is upheld by a committee that finds none",
    { appeals: 1 },
    [yes, unanswerable],
    [true],
  ],
  ["SE10: a committee that could read nothing overturns nothing", { appeals: 1 }, [yes, nothingRead(9)], [false]],
  [
    "SE12: nobody would have got the pay of a round without shares, so its appellant gets no reward",
    { appeals: 1 },
    [{ ...unanswerable, shares: "0x00000000" }, yes],
    [true],
  ],
  ["SE12: that of one that could read nothing does", { appeals: 1 }, [nothingRead(4), yes], [true]],
  ["SE12: two non-answers differ", { appeals: 1 }, [unanswerable, tooEarly], [true]],
  ["SE12: the same non-answer again", { appeals: 1 }, [tooEarly, tooEarly], [false]],
  ["SE12: a non-answer upon a hung committee", { appeals: 1 }, [hung, unanswerable], [true]],
  ["SE12: hung upon a non-answer overturns nothing", { appeals: 1 }, [unanswerable, hung], [false]],
  ["SE10: hung upon a correction leaves it corrected", { appeals: 2 }, [no, yes, hung], [true, false]],
  ["SE10: so does a committee that could read nothing", { appeals: 2 }, [no, yes, nothingRead(19)], [true, false]],
  ["SE10: so do two hung committees", { appeals: 2, retries: 1 }, [no, yes, hung, hung], [true, false]],
  ["SE10: hung committees alone overturn nothing", { appeals: 2 }, [yes, hung, hung], [false, false]],
  [
    "SE10: the number -1 is an answer, whatever the tolerance",
    { appeals: 1, kind: 2, tolerance: 5 },
    [number(-1n), unanswerable],
    [true],
  ],
  ["SE12: retries before and after an appeal", { appeals: 1, retries: 2 }, [hung, yes, hung, no], [true]],
  ["SE10: numbers within the tolerance agree", { appeals: 1, kind: 2, tolerance: 5 }, [-3n, 2n].map(number), [false]],
  ["SE10: numbers beyond the tolerance do not", { appeals: 1, kind: 2, tolerance: 5 }, [-3n, 3n].map(number), [true]],
  [
    "SE10: the numbers that are furthest apart do not",
    { appeals: 2, kind: 2, tolerance: 2 ** 40 - 1 },
    [minimum, -1n, maximum].map(number),
    [true, true],
  ],
  [
    "SE10: sets of policies agree if they are the same",
    { appeals: 2, kind: 4, options: 3 },
    [3n, 5n, 3n].map((bits) => ({ outcome: word(bits) })),
    [false, true],
  ],
];
