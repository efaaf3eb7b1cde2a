// Writes the subgraph's accessors of packed words and its names of answer kinds, and the SDK's codes of protocols, from the lists that
// all languages share.
//   npm run generate     writes the files, and the other generated ones
//   npm run check        exits 1 when they are not what the lists yield
import { LAYOUTS, placeOf, type Layout } from "../agents/core/encoding/layouts.ts";
import { ANSWER_KINDS } from "../agents/core/types.ts";
import { protocols } from "../agents/core/protocols/index.ts";
import { writeOrCheck } from "./shared/generated-files.ts";

/** The words that events carry, by the prefix of their functions. */
const READ = {
  terms: LAYOUTS.requestTerms,
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

const functions = Object.entries<Layout>(READ).flatMap(([prefix, layout]) =>
  layout.map(([field]) => {
    const { shift, bits } = placeOf(layout, field);
    const name = prefix + field.charAt(0).toUpperCase() + field.slice(1);
    const [type, value] = accessor(field, shift, bits);
    return `export function ${name}(word: BigInt): ${type} {\n  return ${value};\n}\n`;
  }),
);
const kinds = ANSWER_KINDS.map((kind) => `"${kind.charAt(0).toUpperCase()}${kind.slice(1)}"`);
const text = [
  `// Generated from agents/core/encoding/layouts.ts and agents/core/types.ts by scripts/words.ts; \`npm run check\` compares. Do not edit.`,
  `import { BigInt, Bytes } from "@graphprotocol/graph-ts";`,
  `import { bigAt, bytesAt, i32At, u64At } from "./words";\n`,
  `/** The schema's names of answer kinds, by their codes. */`,
  `export const KINDS: string[] = [${kinds.join(", ")}];\n`,
  functions.join("\n"),
].join("\n");
const codes = [
  "// Generated from agents/core/protocols by scripts/words.ts; `npm run check` compares. Do not edit.",
  "/** The on-chain codes of the protocols, by their ids: the protocols themselves are too large for a web page. */",
  "export const PROTOCOL_CODES = {",
  ...protocols.map(({ id, code }) => `  ${/^\w+$/.test(id) ? id : JSON.stringify(id)}: ${code},`),
  "} as const;\n",
].join("\n");
writeOrCheck({ "subgraph/src/layouts.ts": text, "sdk/src/protocol-codes.ts": codes }, "scripts/words.ts");

function accessor(field: string, shift: number, bits: number): readonly [type: string, value: string] {
  if (ADDRESSES.has(field)) return ["Bytes", `bytesAt(word, ${bits / 8})`];
  if (bits < 32 || SMALL.has(field)) return ["i32", `i32At(word, ${shift}, ${bits})`];
  if (bits <= 64) return ["u64", `u64At(word, ${shift}, ${bits})`];
  return ["BigInt", `bigAt(word, ${shift}, ${bits})`];
}
