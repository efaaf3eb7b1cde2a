import { limits } from "../../core/limits.ts";
import { defaultTerms } from "../../core/request/terms.ts";

/** A boolean question to the smallest committee: no question costs less. */
export const SMALLEST = defaultTerms({ protocol: 0, duration: limits.minDurationSeconds });
