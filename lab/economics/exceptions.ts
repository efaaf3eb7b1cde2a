import type { Exception } from "./rows.ts";

/** What does not hold. docs/economics.md and every run say it first. A figure above `most` is a fault all the same. */
export const EXCEPTIONS: readonly Exception[] = [];
