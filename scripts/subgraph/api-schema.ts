// The API that graph-node derives from the schema of the entities, as far as our queries need it.
import {
  Kind,
  buildSchema,
  parse,
  print,
  type GraphQLSchema,
  type ObjectTypeDefinitionNode,
  type TypeNode,
} from "graphql";

/** Types of graph-node itself. */
const BUILT_IN = `
directive @entity(immutable: Boolean) on OBJECT
directive @derivedFrom(field: String!) on FIELD_DEFINITION
scalar BigInt
scalar Bytes
enum OrderDirection { asc desc }
input Block_height { hash: Bytes number: Int number_gte: Int }
type _Block_ { hash: Bytes number: Int! timestamp: Int parentHash: Bytes }
type _Meta_ { block: _Block_! deployment: String! hasIndexingErrors: Boolean! }
`;

const COMPARISONS = ["", "_not", "_gt", "_lt", "_gte", "_lte"];

/** @param entities the text of subgraph/schema.graphql */
export function apiSchema(entities: string): GraphQLSchema {
  const { definitions } = parse(entities);
  const types = definitions.filter((one) => one.kind === Kind.OBJECT_TYPE_DEFINITION);
  const names = new Set(types.map(({ name }) => name.value));
  const others = definitions.filter((one) => one.kind !== Kind.OBJECT_TYPE_DEFINITION).map(print);
  const roots = types.flatMap(({ name: { value } }) => [
    `${camel(value)}(id: ID!, block: Block_height): ${value}`,
    `${plural(camel(value))}(${pageArguments(value)}, block: Block_height): [${value}!]!`,
  ]);
  const query = `type Query { ${roots.join("\n")}\n_meta(block: Block_height): _Meta_ }`;
  const texts = types.flatMap((type) => [objectOf(type, names), filterOf(type, names), orderOf(type)]);
  return buildSchema([BUILT_IN, ...others, ...texts, query].join("\n"));
}

/** Lists of entities take the arguments of a page. */
function objectOf({ name, fields = [] }: ObjectTypeDefinitionNode, names: ReadonlySet<string>): string {
  const lines = fields.map((field) => {
    const { name: inner, isList } = shapeOf(field.type);
    return `${field.name.value}${isList && names.has(inner) ? `(${pageArguments(inner)})` : ""}: ${print(field.type)}`;
  });
  return `type ${name.value} { ${lines.join("\n")} }`;
}

function filterOf({ name, fields = [] }: ObjectTypeDefinitionNode, names: ReadonlySet<string>): string {
  const lines = fields.flatMap((field) => {
    const { name: inner, isList } = shapeOf(field.type);
    const key = field.name.value;
    if (isList && names.has(inner)) return [`${key}_: ${inner}_filter`];
    const type = names.has(inner) ? "String" : inner;
    if (isList) return [`${key}_contains: [${type}!]`, `${key}_not_contains: [${type}!]`];
    const compared = COMPARISONS.map((suffix) => `${key}${suffix}: ${type}`);
    return [...compared, `${key}_in: [${type}!]`, `${key}_not_in: [${type}!]`];
  });
  const own = `${name.value}_filter`;
  return `input ${own} { ${lines.join("\n")}\nand: [${own}]\nor: [${own}] }`;
}

function orderOf({ name, fields = [] }: ObjectTypeDefinitionNode): string {
  return `enum ${name.value}_orderBy { ${fields.map((field) => field.name.value).join(" ")} }`;
}

function pageArguments(type: string): string {
  return `first: Int = 100, skip: Int = 0, orderBy: ${type}_orderBy, orderDirection: OrderDirection, where: ${type}_filter`;
}

function shapeOf(type: TypeNode): { readonly name: string; readonly isList: boolean } {
  if (type.kind === Kind.NAMED_TYPE) return { name: type.name.value, isList: false };
  const inner = shapeOf(type.type);
  return type.kind === Kind.LIST_TYPE ? { ...inner, isList: true } : inner;
}

function camel(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function plural(name: string): string {
  return /(?:s|sh|ch|x)$/.test(name) ? `${name}es` : `${name}s`;
}
