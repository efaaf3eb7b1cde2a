// Writes what the subgraph knows of packed words, terms and answer kinds (its accessors, and parts of its schema), and the SDK's codes of
// protocols, from the lists that all languages share.
//   npm run generate     writes the files, and the other generated ones
//   npm run check        exits 1 if one is not what they yield
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LAYOUTS, placeOf, type Layout } from "../agents/core/encoding/layouts.ts";
import { protocols } from "../agents/core/protocols/index.ts";
import { ANSWER_KINDS, NAMED_TERMS } from "../agents/core/types.ts";
import { writeOrCheck } from "./shared/generated-files.ts";

const ACCESSORS = "subgraph/src/layouts.ts";
const SCHEMA = "subgraph/schema.graphql";
const TYPES = "agents/core/types.ts";
const CODES = "sdk/src/protocol-codes.ts";

/** The words that events carry, but the terms, by the prefix of their functions. */
const READ = {
  requestId: LAYOUTS.requestId,
  round: LAYOUTS.round,
  seat: LAYOUTS.seat,
  head: LAYOUTS.decisionHead,
  relay: LAYOUTS.relay,
  service: LAYOUTS.service,
} satisfies Readonly<Record<string, Layout>>;
/** Fields of 32 bits whose values fit an Int of GraphQL all the same. */
const SMALL = new Set(["reputation", "confidence", "round"]);
const ADDRESSES = new Set(["signer", "relayer"]);

/** Terms that the schema shows by an enum: its name, and how a mapping reads a value from a code. */
const ENUMS: Readonly<Record<string, readonly [name: string, read: (code: string) => string]>> = {
  kind: ["Kind", (code) => `KINDS[${code}]`],
  currency: ["Currency", (code) => `currencyOf(${code})`],
};
/** Narrow terms that are a BigInt in the schema nevertheless, as all its times are. */
const TIMES = new Set(["duration", "delay"]);

const kinds = ANSWER_KINDS.map(capitalized);
const terms = LAYOUTS.requestTerms.map(([field]) => {
  const { shift, bits } = placeOf(LAYOUTS.requestTerms, field);
  const [code, value] = accessor(field, shift, bits);
  return { field, code, value };
});
writeOrCheck({ [ACCESSORS]: accessors(), [SCHEMA]: schema(), [CODES]: protocolCodes() }, "scripts/words.ts");

function accessors(): string {
  const functions = Object.entries<Layout>(READ).flatMap(([prefix, layout]) =>
    layout.map(([field]) => {
      const { shift, bits } = placeOf(layout, field);
      const [type, value] = accessor(field, shift, bits);
      return `export function ${prefix}${capitalized(field)}(word: BigInt): ${type} {\n  return ${value};\n}\n`;
    }),
  );
  return [
    `// Generated from agents/core/encoding/layouts.ts and ${TYPES} by scripts/words.ts; \`npm run check\` compares. Do not edit.`,
    `import { BigInt, Bytes } from "@graphprotocol/graph-ts";`,
    `import { Request } from "../generated/schema";`,
    `import { currencyOf } from "./names";`,
    `import { bigAt, bytesAt, i32At, u64At } from "./words";\n`,
    `/** The schema's names of answer kinds, by their codes. */`,
    `const KINDS: string[] = [${kinds.map((kind) => `"${kind}"`).join(", ")}];\n`,
    `/** Writes every term into the request. */`,
    `export function readTerms(request: Request, word: BigInt): void {`,
    ...terms.map(({ field, code, value }) => `  request.${field} = ${mapped(field, code, value)};`),
    `}\n`,
    functions.join("\n"),
  ].join("\n");
}

function protocolCodes(): string {
  return [
    "// Generated from agents/core/protocols by scripts/words.ts; `npm run check` compares. Do not edit.",
    "/** The on-chain codes of the protocols, by their ids: the protocols themselves are too large for a web page. */",
    "export const PROTOCOL_CODES = {",
    ...protocols.map(({ id, code }) => `  ${/^\w+$/.test(id) ? id : JSON.stringify(id)}: ${code},`),
    "} as const;\n",
  ].join("\n");
}

/** The schema with its parts that follow from the lists. */
function schema(): string {
  const text = readFileSync(join(import.meta.dirname, "..", SCHEMA), "utf8");
  const documented = new Map(docsOfTerms());
  const fields = terms.flatMap(({ field, code }) => {
    const codes = Object.entries<readonly string[]>(NAMED_TERMS).find(([name]) => name === field)?.[1] ?? [];
    const listed = ENUMS[field] === undefined ? codes.map((name, index) => `${index} ${name}`).join(", ") : "";
    const comment = [documented.get(field) ?? "", listed === "" ? "" : `${listed}.`].filter((part) => part !== "");
    const type = ENUMS[field]?.[0] ?? (code === "i32" && !TIMES.has(field) ? "Int" : "BigInt");
    return [...(comment.length === 0 ? [] : [`  ${JSON.stringify(comment.join(" "))}`]), `  ${field}: ${type}!`];
  });
  const begin = `  # The terms. scripts/words.ts writes them from ${TYPES}; do not edit.`;
  const end = "  # End of the terms.";
  return [
    [`enum Kind {\n`, kinds.map((kind) => `  ${kind}\n`).join(""), "}"],
    [`${begin}\n`, fields.map((line) => `${line}\n`).join(""), end],
  ].reduce((whole, [from = "", between = "", to = ""]) => replaceBetween(whole, from, between, to), text);
}

function replaceBetween(text: string, from: string, between: string, to: string): string {
  const start = text.indexOf(from) + from.length;
  const stop = text.indexOf(to, start);
  if (!text.includes(from) || stop < 0) throw new Error(`${SCHEMA} lacks ${JSON.stringify(from)} or ${to} after it`);
  return text.slice(0, start) + between + text.slice(stop);
}

/** The comments of the fields of `Terms`, each in one line. */
function docsOfTerms(): readonly (readonly [field: string, doc: string])[] {
  const source = readFileSync(join(import.meta.dirname, "..", TYPES), "utf8");
  const body = /^export interface Terms \{\n(.*?)^\}/ms.exec(source)?.[1] ?? "";
  return [...body.matchAll(/ {2}\/\*\*(.*?)\*\/\n {2}readonly (\w+):/gs)].map(([, doc = "", field = ""]) => [
    field,
    doc.replaceAll(/\s*\n\s*\* /g, " ").trim(),
  ]);
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function accessor(field: string, shift: number, bits: number): readonly [type: string, value: string] {
  if (ADDRESSES.has(field)) return ["Bytes", `bytesAt(word, ${bits / 8})`];
  if (bits < 32 || SMALL.has(field)) return ["i32", `i32At(word, ${shift}, ${bits})`];
  if (bits <= 64) return ["u64", `u64At(word, ${shift}, ${bits})`];
  return ["BigInt", `bigAt(word, ${shift}, ${bits})`];
}

/** The schema's value of a term, from its code in the word. */
function mapped(field: string, code: string, value: string): string {
  const named = ENUMS[field];
  if (named !== undefined) return named[1](value);
  return code === "u64" || TIMES.has(field) ? `BigInt.fromU64(${value})` : value;
}
