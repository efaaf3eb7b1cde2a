// The model of a local world's agents: the small one of this repository, or any other.
import { join } from "node:path";
import { modelFile } from "../../agents/adapters/model-files/folder.ts";
import { checkTemplate, readGgufHeader } from "../../agents/adapters/models/gguf.ts";

export interface WorldModel {
  /** Absolute. */
  readonly path: string;
  /** As the file calls it. */
  readonly name: string;
  /** False for another model than the repository's own, which may be wrong or undecided: the demo does not fail for that. */
  readonly knowsAnswers: boolean;
  readonly pace: Pace;
}

/** How long things may take. A committee has to commit in its epoch or the next, so slow models want long epochs. */
export interface Pace {
  readonly blockSeconds: number;
  readonly epochBlocks: number;
  /** Time for one answer, and for all decisions. */
  readonly phaseMs: number;
  readonly decideMs: number;
}

/** The 8 blocks before a draw take 2 s. The rest of the epoch and the next one give a busy machine a minute or two for the decision. */
const FAST: Pace = { blockSeconds: 0.2, epochBlocks: 320, phaseMs: 60_000, decideMs: 600_000 };
/** Five agents share the cores of this machine. */
const PATIENT: Pace = { blockSeconds: 1, epochBlocks: 2400, phaseMs: 300_000, decideMs: 2_400_000 };
const OWN = join(import.meta.dirname, "../../models/conclave-small.gguf");

/** Returns the model that a path or a name of the folder of models means. Throws MODEL_FILE_MISSING, MODEL_FILE_BROKEN, MODEL_TEMPLATE_MISSING. */
export function worldModel(named: string | undefined): WorldModel {
  const path = named === undefined ? OWN : modelFile(named, process.cwd(), process.env);
  const header = readGgufHeader(path);
  checkTemplate(path, header);
  const isOwn = named === undefined;
  return { path, name: header.name, knowsAnswers: isOwn, pace: isOwn ? FAST : PATIENT };
}
