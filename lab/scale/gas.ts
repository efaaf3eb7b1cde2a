/** Gas of one decision by the number of seats. */
export interface GasOf {
  /** All transactions, the decision alone in each. */
  readonly allIn: (seats: number) => number;
  /** With an appeal allowed that nobody makes: finalized alone, settled with nineteen others. */
  readonly withAppeal: (seats: number) => number;
}

const MEASURED = [4, 7, 13, 31] as const;

/** Finds the figures in `test/contracts/gas.json`. Between and above the measured sizes gas grows by the seat. */
export function gasOf(figures: Readonly<Record<string, number>>): GasOf {
  const figure = (name: string): number => {
    const found = figures[name];
    if (found === undefined) throw new Error(`test/contracts/gas.json has no figure "${name}": adapt lab/scale/gas.ts`);
    return found;
  };
  const one = (n: number): string => `${n} seats, 1000 proven, 1 commits with 1 headers`;
  const many = (n: number): string => `${n} seats, 1000 proven, 20 commits with 1 headers, an appeal allowed`;
  const points = (of: (n: number) => number) => MEASURED.map((n) => [n, of(n)] as const);
  const allIn = points((n) => figure(`all in, ${one(n)}`));
  const withAppeal = points(
    (n) =>
      figure(`all in, ${one(n)}`) + figure(`finalize, ${one(n)}, an appeal allowed`) + figure(`settle, ${many(n)}`),
  );
  return { allIn: (seats) => onLine(allIn, seats), withAppeal: (seats) => onLine(withAppeal, seats) };
}

/** Returns the value on the line through the two measured points that lie around, or below. */
function onLine(points: readonly (readonly [number, number])[], at: number): number {
  const after = points.findIndex(([n]) => n >= at);
  const second = after === -1 ? points.length - 1 : Math.max(1, after);
  const [[n, low], [m, high]] = [points[second - 1], points[second]] as [
    readonly [number, number],
    readonly [number, number],
  ];
  return Math.round(low + ((high - low) * (at - n)) / (m - n));
}
