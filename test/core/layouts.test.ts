import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { LAYOUTS, placeOf, type Layout } from "../../agents/core/encoding/layouts.ts";
import { assertAtLeast, assertAtMost, assertIncludes, assertIncludesAll, assertWithin } from "../support/assertions.ts";

type Word = keyof typeof LAYOUTS;

/** The Solidity library of a word. */
interface Library {
  readonly file: string;
  readonly type: string;
  /** Functions that write the whole word. */
  readonly packs: readonly string[];
  /** Functions that each read one field. */
  readonly reads: readonly string[];
  /** Fields by the function that reads them under another name. */
  readonly names?: Readonly<Record<string, string>>;
  /** Names that the packing function gives to fields, where they differ. */
  readonly packed?: Readonly<Record<string, string>>;
  /** Fields that other functions write. */
  readonly writtenElsewhere?: readonly string[];
}

const LIBRARIES: Readonly<Record<Word, Library>> = {
  requestTerms: {
    file: "libraries/RequestTermsLib.sol",
    type: "RequestTerms",
    packs: ["pack"],
    reads: [
      "fee",
      "duration",
      "appeals",
      "retries",
      "tolerance",
      "callbackGasLimit",
      "committeeSize",
      "security",
      "currency",
      "options",
      "kind",
    ],
  },
  requestId: {
    file: "libraries/RequestIdLib.sol",
    type: "RequestId",
    packs: ["pack"],
    reads: ["priceVersion", "subscription"],
  },
  round: { file: "libraries/RoundLib.sol", type: "Round", packs: ["pack"], reads: ["link", "appeals", "deadline"] },
  seat: {
    file: "libraries/SeatLib.sol",
    type: "Seat",
    packs: ["pack"],
    reads: ["skill", "agentId", "reputation", "signer"],
  },
  decisionHead: {
    file: "libraries/DecisionHeadLib.sol",
    type: "DecisionHead",
    packs: ["pack"],
    reads: ["statusCode", "attempt", "seats", "round", "confidence", "answered", "agreed"],
    names: { statusCode: "status" },
  },
  relay: {
    file: "libraries/RelayLib.sol",
    type: "Relay",
    packs: ["pack"],
    reads: ["signers", "gasPrice", "relayer"],
    packed: { gasPrice: "units" },
  },
  prices: {
    file: "libraries/PricesLib.sol",
    type: "Prices",
    packs: ["pack"],
    reads: ["unitPrice", "gasRate", "gasPriceCap", "treasuryPpm", "version", "isOpen"],
    names: { isOpen: "open" },
  },
  requestState: {
    file: "libraries/RequestState.sol",
    type: "RequestState",
    packs: ["make"],
    reads: ["status", "attempt", "covers"],
    names: { covers: "commitment" },
    writtenElsewhere: ["flags"],
  },
  candidate: {
    file: "libraries/Candidates.sol",
    type: "Candidate",
    packs: ["pack"],
    reads: ["stake", "reputation", "skill", "agentId", "signer"],
    writtenElsewhere: ["stamp"],
  },
  service: {
    file: "libraries/ServiceLib.sol",
    type: "Service",
    packs: ["pack"],
    reads: ["agentId", "steps", "missed", "answered", "agreed", "earned"],
    writtenElsewhere: ["answered", "agreed"],
  },
  agentAccount: {
    file: "libraries/AgentAccountLib.sol",
    type: "AgentAccount",
    packs: [],
    reads: ["reputation", "service", "week", "slashes", "lessons", "contested", "agreed", "misses", "exited"],
  },
  balances: { file: "libraries/BalancesLib.sol", type: "Balances", packs: [], reads: ["count"] },
};

const WORDS = Object.keys(LAYOUTS) as readonly Word[];
const TYPES = read("types/Types.sol");

describe("layouts: Solidity's shifts and casts are those of the table", () => {
  for (const word of WORDS)
    it(`${word}: the bits of all fields fit 256`, () => {
      const layout: Layout = LAYOUTS[word];
      assertAtMost(
        layout.reduce((sum, [, bits]) => sum + bits, 0),
        256,
      );
      assert.equal(new Set(layout.map(([name]) => name)).size, layout.length);
    });

  for (const word of WORDS)
    for (const name of LIBRARIES[word].reads)
      it(`${LIBRARIES[word].type}: ${name} reads where the table says`, () => {
        const { layout, source, fieldOf } = open(word);
        const { shift, bits } = placeOf(layout, fieldOf(name));
        const body = bodyOf(source, name, LIBRARIES[word].type);
        const isHighest = layout[0]?.[0] === fieldOf(name);
        assert.equal(shiftIn(body, source), shift, "shift");
        // The highest field may keep the bits above it, which are 0 in a sound word or make it a value that nothing accepts.
        assertIncludes(isHighest ? [bits, null] : [bits], widthIn(body, source), "width");
      });

  for (const word of WORDS)
    for (const packing of LIBRARIES[word].packs)
      it(`${LIBRARIES[word].type}: ${packing} writes every field where the table says`, () => {
        const { layout, source } = open(word);
        const body = bodyOf(source, packing);
        const elsewhere = LIBRARIES[word].writtenElsewhere ?? [];
        const written = layout.filter(([field]) => !elsewhere.includes(field));
        for (const [field] of written) {
          const { shift } = placeOf(layout, field);
          // A term of the packed word, as `(uint256(terms.fee) << 160)` or `deadline_`, up to the next `|`.
          const name = LIBRARIES[word].packed?.[field] ?? field;
          const found = [...body.matchAll(new RegExp(`\\b${name}_?\\b(?:[^|;]*<< (\\w+))?`, "g"))].at(-1);
          assert.notEqual(found, undefined, field);
          assert.equal(found?.[1] === undefined ? 0 : numberOf(found[1], source), shift, field);
        }
        const shifted = written.filter(([field]) => placeOf(layout, field).shift !== 0);
        assert.equal(body.split("<<").length - 1, shifted.length, "one shift for each field but the lowest");
      });

  it("RequestTerms: what validate and unpack read from the raw word begins where a field does", () => {
    const { layout, source } = open("requestTerms");
    const raw = [...source.matchAll(/(\w+)_? = (?:uint8\()?\(?word >> (\d+)\)?/g)];
    assertIncludesAll(
      raw.map(([, name = ""]) => name.replace(/_$/, "")),
      ["assurance", "currency", "decimals"],
    );
    for (const [, name = "", shift] of raw)
      assert.equal(Number(shift), placeOf(layout, name.replace(/_$/, "")).shift, name);
  });

  for (const file of ["libraries/DecisionLib.sol", "libraries/CallbackLib.sol"])
    it(`DecisionHead: ${file} reads in assembly where the table says`, () => {
      const layout: Layout = LAYOUTS.decisionHead;
      const source = read(file);
      const found = [...source.matchAll(/(?:and\()?shr\((\d+), head\)(?:, (0x[0-9a-f]+)\))?/g)];
      assertAtLeast(found.length, 2);
      for (const [, shift, mask] of found) {
        const [name = "", bits] = layout.find(([field]) => placeOf(layout, field).shift === Number(shift)) ?? [];
        assert.notEqual(bits, undefined, `shr(${shift}, head)`);
        // The highest field keeps the bits above it.
        const width = mask === undefined ? null : BigInt(mask).toString(2).length;
        assertIncludes(name === layout[0]?.[0] ? [bits, null] : [bits], width, name);
      }
      // Without a shift only the lowest field can be read.
      const lowest = [...source.matchAll(/and\(head, (0x[0-9a-f]+)\)/g)].map(
        ([, mask = ""]) => BigInt(mask).toString(2).length,
      );
      for (const width of lowest) assert.equal(width, layout.at(-1)?.[1], "and(head, mask)");
    });

  it("RequestState: every flag is a bit of the flags", () => {
    const { layout, source } = open("requestState");
    const { shift, bits } = placeOf(layout, "flags");
    const flags = [...source.matchAll(/uint256 internal constant \w+ = 1 << (\d+);/g)].map(([, bit]) => Number(bit));
    assert.equal(flags.length, 3);
    for (const bit of flags) assertWithin(bit, shift, shift + bits - 1);
  });

  for (const [word, constant] of [
    ["balances", "BITS"],
    ["agentAccount", "PAY_BITS"],
  ] as const)
    it(`${LIBRARIES[word].type}: a currency is as many widths from the lowest bit as its code says`, () => {
      const { layout, source } = open(word);
      const width = constantsOf(source).get(constant);
      assert.deepEqual(
        [placeOf(layout, "token"), placeOf(layout, "native")],
        [
          { shift: 0, bits: width },
          { shift: width, bits: width },
        ],
      );
    });

  for (const word of WORDS)
    it(`${LIBRARIES[word].type}: its comment names the fields from the highest bit to the lowest`, () => {
      const { layout, source, type } = open(word);
      const declaration = `type ${type} is uint256;`;
      const home = source.includes(declaration) ? source : TYPES;
      const at = home.indexOf(declaration);
      const comment = home.slice(home.lastIndexOf("\n\n", at), at).replaceAll(/\s*\/\/\/\s*/g, " ");
      const named = [...comment.matchAll(/(\w+) (uint\d+|address|Seat)\b/g)].map(([, field, of]) => [field, of]);
      assert.deepEqual(
        named,
        layout.map(([field, bits]) => [field, bits === 160 ? "address" : bits === 224 ? "Seat" : `uint${bits}`]),
      );
    });
});

function read(file: string): string {
  return readFileSync(new URL(`../../contracts/${file}`, import.meta.url), "utf8");
}

function open(word: Word) {
  const { file, type, names } = LIBRARIES[word];
  return {
    layout: LAYOUTS[word] as Layout,
    type,
    source: read(file),
    fieldOf: (name: string): string => names?.[name] ?? name,
  };
}

/** The statements of a function without comments; of the overload that takes the packed word first where `type` is given. */
function bodyOf(source: string, name: string, type?: string): string {
  const start = source.search(new RegExp(`function ${name}\\(\\s*${type === undefined ? "" : `${type} `}`));
  if (start < 0) throw new Error(`no function ${name}(${type ?? ""}`);
  const body = source.slice(source.indexOf("{", start), source.indexOf("\n    }\n", start));
  return body.replaceAll(/\/\/.*$/gm, "");
}

/** Numbers by the name of the constant; masks as the number of their bits, one bit that is set as its place. */
function constantsOf(source: string): ReadonlyMap<string, number> {
  const constants = new Map<string, number>();
  for (const [, name = "", value = ""] of source.matchAll(/constant (\w+) = ([^;]+);/g)) {
    const [, factor, other] = /^(\d+) \* (\w+)$/.exec(value) ?? [];
    const mask = /^\(1 << (\d+)\) - 1$/.exec(value)?.[1];
    if (/^\d+$/.test(value)) constants.set(name, Number(value));
    else if (factor !== undefined) constants.set(name, Number(factor) * (constants.get(other ?? "") ?? Number.NaN));
    else if (mask !== undefined) constants.set(name, Number(mask));
  }
  return constants;
}

function numberOf(text: string, source: string): number {
  return /^\d+$/.test(text) ? Number(text) : (constantsOf(source).get(text) ?? Number.NaN);
}

function shiftIn(body: string, source: string): number {
  const shift = />> (\w+)/.exec(body)?.[1];
  return shift === undefined ? 0 : numberOf(shift, source);
}

/** The narrowest of casts and masks; null without one. */
function widthIn(body: string, source: string): number | null {
  const casts = [...body.matchAll(/uint(\d+)\(/g)].map(([, bits]) => Number(bits));
  const masks = [...body.matchAll(/& (0x[0-9a-f]+)/g)].map(([, mask = ""]) => Number(mask).toString(2).length);
  const named = [...body.matchAll(/& ([A-Z_]+)/g)].map(([, name = ""]) =>
    name === "OPEN" ? 8 : numberOf(name, source),
  );
  const all = [...casts, ...masks, ...named].filter((bits) => bits < 256);
  return all.length === 0 ? null : Math.min(...all);
}
