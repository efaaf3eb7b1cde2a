import { hashgraphStudy } from "./hashgraph.ts";
import { mbftStudy } from "./mbft.ts";
import type { Study } from "./study.ts";

export const STUDIES: readonly Study[] = [hashgraphStudy, mbftStudy];
