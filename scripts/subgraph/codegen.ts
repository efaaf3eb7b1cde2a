// Generates the typed client: TypeScript that knows the type of each answer and checks what an endpoint returns, from
// the queries and the schema.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  Kind,
  concatAST,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  print,
  separateOperations,
  stripIgnoredCharacters,
  typeFromAST,
  validate,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLEnumType,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  type GraphQLType,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import { format } from "prettier";
import { apiSchema } from "./api-schema.ts";

const root = join(import.meta.dirname, "../..");
const folder = "agents/adapters/subgraph";
/** Queries for people; they only have to fit the schema. */
const EXAMPLES = "subgraph/examples/*.graphql";
const TARGET = `${folder}/queries.ts`;

const NOTICE = `// Generated from queries/*.graphql and subgraph/schema.graphql by scripts/queries.ts; \`npm run check\` compares. Do not edit.
import * as z from "zod/mini";
import { bigInt, bytes, day, int, list, requestId, text, time, type Where } from "./scalars.ts";
import type { Hex } from "../../core/types.ts";
`;

const CHECKS: Readonly<Record<string, string>> = {
  ID: "text",
  String: "text",
  Int: "int",
  BigInt: "bigInt",
  Bytes: "bytes",
  Boolean: "z.boolean()",
};
/** Fields that mean more than their type says, by their name or by type and name. */
const MEANINGS: Readonly<Record<string, string>> = {
  "Request.id": "requestId",
  "Statistic.day": "day",
  "Agent.registeredAt": "time",
  timestamp: "time",
};
const TYPES: Readonly<Record<string, string>> = {
  ID: "string",
  String: "string",
  Int: "number",
  BigInt: "bigint",
  Bytes: "Hex",
  Boolean: "boolean",
};

interface Generation {
  readonly schema: GraphQLSchema;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly enums: Map<string, GraphQLEnumType>;
  readonly filters: Map<string, GraphQLInputObjectType>;
}

/** Returns the text of the generated file by its path. Throws if a query does not fit the schema. */
export async function generateQueries(): Promise<Readonly<Record<string, string>>> {
  const schema = apiSchema(readFileSync(join(root, "subgraph", "schema.graphql"), "utf8"));
  for (const file of filesOf(EXAMPLES)) requireValid(schema, parseFile(file), file);
  const document = concatAST(filesOf(`${folder}/queries/*.graphql`).map(parseFile));
  requireValid(schema, document, `${folder}/queries`);
  const fragments = document.definitions.filter((one) => one.kind === Kind.FRAGMENT_DEFINITION);
  const generation: Generation = {
    schema,
    fragments: new Map(fragments.map((one) => [one.name.value, one])),
    enums: new Map(),
    filters: new Map(),
  };
  const operations = Object.values(separateOperations(document)).map((one) => operationText(one, generation));
  const filters = [...generation.filters].map(([name, type]) => filterText(name, type, generation));
  const enums = [...generation.enums].map(([name, type]) => `const ${lower(name)} = z.enum(${valuesOf(type)});\n`);
  const source = [NOTICE, ...enums, ...filters, ...operations].join("\n");
  return { [TARGET]: await format(source, { parser: "typescript", printWidth: 120 }) };
}

function filesOf(pattern: string): readonly string[] {
  return globSync(pattern, { cwd: root }).toSorted();
}

function parseFile(file: string): DocumentNode {
  return parse(readFileSync(join(root, file), "utf8"));
}

function requireValid(schema: GraphQLSchema, document: DocumentNode, file: string): void {
  const errors = validate(schema, document);
  if (errors.length > 0) throw new Error(`Check ${file}:\n${errors.map(({ message }) => message).join("\n")}`);
}

/** Generates a function from the variables of a query to what the client sends and expects. */
function operationText(document: DocumentNode, generation: Generation): string {
  const operation = document.definitions.find((one) => one.kind === Kind.OPERATION_DEFINITION);
  const name = operation?.name?.value;
  const query = generation.schema.getQueryType();
  if (operation === undefined || name === undefined || query === undefined || query === null)
    throw new Error("Generate a query: it has no name");
  const answer = objectCheck(query, operation.selectionSet, generation);
  const variables = variablesOf(operation, generation);
  return `const ${lower(name)}Answer = ${answer};
/** All that the query ${name} tells. */
export type ${name}Answer = z.infer<typeof ${lower(name)}Answer>;

const ${lower(name)}Text = ${JSON.stringify(stripIgnoredCharacters(print(document)))};

export function ${lower(name)}Query(variables: { ${variables.join("; ")} }) {
  return { name: "${name}", text: ${lower(name)}Text, variables, answer: ${lower(name)}Answer };
}
`;
}

function variablesOf({ variableDefinitions = [] }: OperationDefinitionNode, generation: Generation): readonly string[] {
  return variableDefinitions.map(({ variable, type }) => {
    const found = typeFromAST(generation.schema, type) as GraphQLInputType;
    return `readonly ${variable.name.value}${isNonNullType(found) ? "" : "?"}: ${inputType(found, generation)}`;
  });
}

function inputType(type: GraphQLType, generation: Generation): string {
  if (isNonNullType(type)) return inputType(type.ofType, generation);
  if (isListType(type)) return `readonly ${inputType(type.ofType, generation)}[]`;
  const named = getNamedType(type);
  if (isEnumType(named)) {
    generation.enums.set(named.name, named);
    return `z.infer<typeof ${lower(named.name)}>`;
  }
  if (!isInputObjectType(named)) return TYPES[named.name] ?? fail(`Type a variable: ${named.name} is unknown`);
  const name = named.name.replace(/_filter$/, "Filter");
  generation.filters.set(name, named);
  return name;
}

/** Returns the fields that a filter compares, and those of the entities beside it, not deeper. */
function filterText(name: string, type: GraphQLInputObjectType, generation: Generation): string {
  const nested = Object.values(type.getFields()).flatMap((field) => {
    const inner = getNamedType(field.type);
    if (!field.name.endsWith("_") || !isInputObjectType(inner)) return [];
    return [`readonly ${field.name}?: Where<${comparedFields(inner, generation)}>`];
  });
  return `export type ${name} = Where<${comparedFields(type, generation)}> & { ${nested.join("; ")} };\n`;
}

function comparedFields(type: GraphQLInputObjectType, generation: Generation): string {
  const fields = Object.values(type.getFields());
  const compared = fields.filter(({ name }) => fields.some((other) => other.name === `${name}_not`));
  return `{ ${compared.map((field) => `${field.name}: ${inputType(field.type, generation)}`).join("; ")} }`;
}

function outputCheck(type: GraphQLOutputType, selection: SelectionSetNode | undefined, generation: Generation): string {
  if (isNonNullType(type)) return valueCheck(type.ofType, selection, generation);
  return nullable(valueCheck(type, selection, generation));
}

function valueCheck(type: GraphQLOutputType, selection: SelectionSetNode | undefined, generation: Generation): string {
  if (isListType(type)) return `list(${outputCheck(type.ofType, selection, generation)})`;
  const named = getNamedType(type);
  if (isObjectType(named) && selection !== undefined) return objectCheck(named, selection, generation);
  if (!isEnumType(named)) return CHECKS[named.name] ?? fail(`Check an answer: ${named.name} is unknown`);
  generation.enums.set(named.name, named);
  return lower(named.name);
}

function objectCheck(type: GraphQLOutputType, selection: SelectionSetNode, generation: Generation): string {
  return `z.object({ ${fieldChecks(type, selection, generation).join(", ")} })`;
}

function fieldChecks(type: GraphQLOutputType, selection: SelectionSetNode, generation: Generation): readonly string[] {
  if (!isObjectType(type)) return fail(`Check an answer: ${String(type)} is no object`);
  return selection.selections.flatMap((one) => {
    if (one.kind === Kind.INLINE_FRAGMENT) return fail("Check an answer: inline fragments are not supported");
    if (one.kind === Kind.FRAGMENT_SPREAD) {
      const fragment = generation.fragments.get(one.name.value) ?? fail(`Find fragment ${one.name.value}`);
      return fieldChecks(type, fragment.selectionSet, generation);
    }
    const field = type.getFields()[one.name.value] ?? fail(`Find field ${one.name.value}`);
    const meaning = MEANINGS[`${type.name}.${field.name}`] ?? (isBigInt(field.type) ? MEANINGS[field.name] : undefined);
    const check = meaning ?? outputCheck(field.type, one.selectionSet, generation);
    const mayBeNull = meaning !== undefined && !isNonNullType(field.type);
    return [`${(one.alias ?? one.name).value}: ${mayBeNull ? nullable(check) : check}`];
  });
}

function nullable(check: string): string {
  return `z.nullable(${check})`;
}

function isBigInt(type: GraphQLOutputType): boolean {
  return getNamedType(type).name === "BigInt";
}

function valuesOf(type: GraphQLEnumType): string {
  return JSON.stringify(type.getValues().map(({ name }) => name));
}

function lower(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function fail(message: string): never {
  throw new Error(message);
}
