import { mbftStudy } from "./mbft.ts";
import type { Study } from "./study.ts";

export const STUDIES: readonly Study[] = [mbftStudy];
