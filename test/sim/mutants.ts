import type { Mutant } from "../../agents/sim/mutant.ts";

export const mutants: readonly Mutant[] = [];
