/** One field of one case in which this implementation and the file disagree. */
export interface Difference {
  readonly scenario: string;
  /** Path inside the expectation, such as `history[2].leader`. */
  readonly field: string;
  readonly expected: unknown;
  readonly got: unknown;
}

export type FieldDifference = Omit<Difference, "scenario">;

/** Returns true if two unequal numbers may count as equal in a field. */
export type Tolerance = (field: string, expected: number, got: number) => boolean;

const exact: Tolerance = () => false;

/** Compares every key and index of both sides in depth, bit for bit where no tolerance applies. */
export function compareValues(
  path: string,
  expected: unknown,
  got: unknown,
  tolerates: Tolerance = exact,
): readonly FieldDifference[] {
  if (typeof expected !== "object" || expected === null || typeof got !== "object" || got === null) {
    const isNumber = typeof expected === "number" && typeof got === "number";
    const same = expected === got || (isNumber && tolerates(path, expected, got));
    return same ? [] : [{ field: path, expected, got }];
  }
  const list = Array.isArray(expected);
  const keys = new Set([...Object.keys(expected), ...Object.keys(got)]);
  return [...keys].flatMap((key) => {
    const field = list ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    return compareValues(field, ownProperty(expected, key), ownProperty(got, key), tolerates);
  });
}

function ownProperty(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as Record<string, unknown>)[key] : undefined;
}
