/**
 * Remembers results of pure functions of the core within one world: all seats of a world live in one process and
 * decode, hash and verify the same messages. hooks.ts puts these memories around the functions; `forget` empties
 * them.
 */
const forgetters: (() => void)[] = [];

/** Empties all memories; called between two worlds. */
export function forget(): void {
  for (const clear of forgetters) clear();
}

/** Remembers by the identity of the first argument; the others never differ for it within a world. */
export function byIdentity<Arguments extends readonly unknown[], Result>(
  once: (...given: Arguments) => Result,
): (...given: Arguments) => Result {
  const known = new Map<unknown, Result>();
  forgetters.push(() => known.clear());
  return (...given) => {
    const found = known.get(given[0]);
    if (found !== undefined) return found;
    const result = once(...given);
    known.set(given[0], result);
    return result;
  };
}

/** Remembers by the identity of both arguments; null is a result like any other. */
export function byBoth<A, B, Result>(once: (a: A, b: B) => Result): (a: A, b: B) => Result {
  const known = new Map<A, Map<B, Result>>();
  forgetters.push(() => known.clear());
  return (a, b) => {
    let ofFirst = known.get(a);
    if (ofFirst === undefined) known.set(a, (ofFirst = new Map<B, Result>()));
    const found = ofFirst.get(b);
    if (found !== undefined || ofFirst.has(b)) return found as Result;
    const result = once(a, b);
    ofFirst.set(b, result);
    return result;
  };
}

/** Remembers by the bytes of the argument. */
export function byBytes<Result>(once: (bytes: Uint8Array) => Result): (bytes: Uint8Array) => Result {
  const known = new Map<string, Result>();
  forgetters.push(() => known.clear());
  return (bytes) => {
    const key = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
    const found = known.get(key);
    if (found !== undefined || known.has(key)) return found as Result;
    const result = once(bytes);
    known.set(key, result);
    return result;
  };
}

/** Remembers by the identity of the third argument: the first two are the same throughout a world. */
export function byThird<A, B, C, Result>(once: (a: A, b: B, c: C) => Result): (a: A, b: B, c: C) => Result {
  const known = new Map<C, Result>();
  forgetters.push(() => known.clear());
  return (a, b, c) => {
    let found = known.get(c);
    if (found === undefined) known.set(c, (found = once(a, b, c)));
    return found;
  };
}

/** Remembers by the identity of the message in the argument; an argument without one is not remembered. */
export function byMessage<Result>(
  once: (input: { readonly message?: object }) => Result,
): (input: { readonly message?: object }) => Result {
  const known = new Map<object, Result>();
  forgetters.push(() => known.clear());
  return (input) => {
    if (input.message === undefined) return once(input);
    let found = known.get(input.message);
    if (found === undefined) known.set(input.message, (found = once(input)));
    return found;
  };
}
