import { decentllmsStudy } from "./decentllms.ts";
import { deepthnkrStudy } from "./deepthnkr.ts";
import { hashgraphStudy } from "./hashgraph.ts";
import { mbftStudy } from "./mbft.ts";
import type { Study } from "./study.ts";
import { unanimousStudy } from "./unanimous.ts";

export const STUDIES: readonly Study[] = [unanimousStudy, decentllmsStudy, hashgraphStudy, mbftStudy, deepthnkrStudy];
