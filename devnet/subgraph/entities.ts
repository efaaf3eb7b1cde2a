// Reads every entity of a subgraph as it was at a block, by the schema that graph-node reports.
import { postQuery } from "./graph-node.ts";

export type Value = string | number | boolean | null | readonly Value[];
/** Fields by name without derived ones; a reference is the id of the other entity. */
export type Entity = Readonly<Record<string, Value>> & { readonly id: string };
/** Entities by type, then by id. */
export type Entities = Readonly<Record<string, ReadonlyMap<string, Entity>>>;

interface TypeRef {
  readonly kind: string;
  readonly name: string | null;
  readonly ofType: TypeRef | null;
}

interface Introspection {
  readonly __schema: {
    readonly queryType: { readonly fields: readonly { readonly name: string; readonly type: TypeRef }[] };
    readonly types: readonly {
      readonly name: string;
      readonly kind: string;
      readonly fields:
        readonly { readonly name: string; readonly type: TypeRef; readonly args: readonly object[] }[] | null;
    }[];
  };
}

const TYPE = "kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";
const INTROSPECTION = `{ __schema { queryType { fields { name type { ${TYPE} } } } types { name kind fields { name args { name } type { ${TYPE} } } } } }`;
/** Most entities that graph-node returns at once. */
const PAGE = 1000;

export async function readEntities(queryUrl: string, block: number, signal?: AbortSignal): Promise<Entities> {
  const { __schema: schema } = await postQuery<Introspection>(queryUrl, INTROSPECTION, {}, signal);
  const result: Record<string, ReadonlyMap<string, Entity>> = {};
  for (const { name: collection, type } of schema.queryType.fields) {
    const entity = schema.types.find(({ name, kind }) => kind === "OBJECT" && name === innermost(type).name);
    // Names of graph-node's own types begin with "_".
    if (collection.startsWith("_") || !isList(type) || entity?.fields === null || entity === undefined) continue;
    const fields = entity.fields.filter((field) => !isDerived(field));
    const selection = fields.map((field) =>
      innermost(field.type).kind === "OBJECT" ? `${field.name} { id }` : field.name,
    );
    result[entity.name] = await readAll(queryUrl, collection, selection.join(" "), block, signal);
  }
  return result;
}

async function readAll(
  queryUrl: string,
  collection: string,
  selection: string,
  block: number,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Entity>> {
  const found = new Map<string, Entity>();
  for (let last = ""; ;) {
    const where = last === "" ? "" : `, where: { id_gt: ${JSON.stringify(last)} }`;
    const query = `{ page: ${collection}(first: ${PAGE}, orderBy: id, block: { number: ${block} }${where}) { ${selection} } }`;
    const { page } = await postQuery<{ readonly page: readonly Record<string, unknown>[] }>(
      queryUrl,
      query,
      {},
      signal,
    );
    for (const row of page) {
      const entity = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, flat(value)])) as Entity;
      found.set(entity.id, entity);
      last = entity.id;
    }
    if (page.length < PAGE) return found;
  }
}

/** Returns the entity; without fields if it does not exist. */
export function find(entities: Entities, type: string, id: string): Entity {
  return entities[type]?.get(id) ?? { id: `no ${type} ${id}` };
}

function flat(value: unknown): Value {
  if (Array.isArray(value)) return value.map(flat);
  return typeof value === "object" && value !== null ? (value as { readonly id: string }).id : (value as Value);
}

function innermost(type: TypeRef): TypeRef {
  return type.ofType === null || type.ofType === undefined ? type : innermost(type.ofType);
}

function isList(type: TypeRef): boolean {
  return type.kind === "LIST" || (type.ofType !== null && type.ofType !== undefined && isList(type.ofType));
}

/** A stored list of entities has arguments, too; the only one is the decision's signers. */
function isDerived({
  name,
  type,
  args,
}: {
  readonly name: string;
  readonly type: TypeRef;
  readonly args: readonly object[];
}): boolean {
  return args.length > 0 && isList(type) && innermost(type).kind === "OBJECT" && name !== "signers";
}
