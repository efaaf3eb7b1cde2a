/** A study: `npm run lab -- <name>` runs it, `command.ts` in its folder is where it begins. */
export interface Study {
  /** Name of one or two words. */
  readonly name: string;
  /** What it shows, in one line. */
  readonly shows: string;
  readonly load: () => Promise<StudyCommand>;
}

interface StudyCommand {
  /** Runs the study and returns the exit code. Throws CommanderError for a bad option, and ConclaveError. */
  main(options: readonly string[]): Promise<number>;
}

export const STUDIES: readonly Study[] = [
  {
    name: "eval",
    shows: "what committees of real models make of questions with known answers, beside a plain vote",
    load: async () => withFastSignatures(() => import("./eval/command.ts")),
  },
  {
    name: "confidence",
    shows:
      "how often decisions are right, by what stands behind them; writes the table of the certificates' confidence",
    load: async () => withFastSignatures(() => import("./confidence/command.ts")),
  },
  {
    name: "papers",
    shows: "the tables and figures of one of the five papers, done again",
    load: async () => withFastSignatures(() => import("./papers/command.ts")),
  },
  {
    name: "attacks",
    shows: "attacks that break the published reference, and texts that try to be more than data",
    load: async () => withFastSignatures(() => import("./attacks/command.ts")),
  },
  {
    name: "conformance",
    shows: "whether the reference modes and virtual voting match vector files field by field",
    load: async () => import("./conformance/command.ts"),
  },
  {
    name: "complexity",
    shows: "messages, bytes and model calls of each protocol; writes the tables of docs/spec/complexity.md",
    load: async () => withoutSignatures(() => import("./complexity/command.ts")),
  },
  {
    name: "randao",
    shows: "what a proposer gains by withholding blocks; writes the tables of docs/adr/007-seed-from-prevrandao.md",
    load: async () => import("./randao/command.ts"),
  },
  {
    name: "scenario",
    shows: "one life of an economy on a local chain, and where every token and coin of it went",
    load: async () => import("./scenario/command.ts"),
  },
  {
    name: "economics",
    shows: "which strategies earn and lose on the real contracts; writes the tables of docs/economics.md",
    load: async () => import("./economics/command.ts"),
  },
  {
    name: "bench core",
    shows: "decisions per second of the pure core, beside the reference in Python",
    load: async () => import("./bench/core/command.ts"),
  },
  {
    name: "bench gas",
    shows: "gas of request, commit, settlement and evidence, beside other oracles",
    load: async () => import("./bench/gas/command.ts"),
  },
  {
    name: "bench models",
    shows: "tokens per second of seats that share one embedded model, beside the bare engine",
    load: async () => import("./bench/models/command.ts"),
  },
  {
    name: "bench committee",
    shows: "seconds and tokens that a committee with one embedded model needs for a decision, on a CPU or a GPU",
    load: async () => withFastSignatures(() => import("./bench/committee/command.ts")),
  },
  {
    name: "bench latency",
    shows: "milliseconds from the last message to the certificate, beside three one-way delays of the same hosts",
    load: async () => import("./bench/latency/command.ts"),
  },
  {
    name: "bench verify",
    shows: "decisions per second that `conclave verify --since 0` proves, beside hashing and checking once",
    load: async () => import("./bench/verify/command.ts"),
  },
  {
    name: "scale",
    shows:
      "what 10,000 agents and a decision a second need, and what gives out first; writes the tables of docs/scale.md",
    load: async () => import("./scale/command.ts"),
  },
  {
    name: "subgraph bench",
    shows: "how fast graph-node indexes a long history, and whether every entity is right (linux-x64)",
    load: async () => import("./subgraph/command.ts"),
  },
];

/** Returns the study that the first words name, and the words that follow; null if they name no study. */
export function studyOf(
  words: readonly string[],
): { readonly study: Study; readonly options: readonly string[] } | null {
  for (const study of STUDIES) {
    const name = study.name.split(" ");
    if (name.every((word, index) => word === words[index])) return { study, options: words.slice(name.length) };
  }
  return null;
}

/** Signatures and hashes of a simulated world cost next to nothing. Installed before `load` brings any of the core. */
async function withFastSignatures(load: Study["load"]): Promise<StudyCommand> {
  const { installHooks } = await import("../sim/hooks.ts");
  installHooks({ realSignatures: false, mutant: null });
  return load();
}

/** Signatures cost nothing, hashes are real. */
async function withoutSignatures(load: Study["load"]): Promise<StudyCommand> {
  await import("./shared/no-signatures.ts");
  return load();
}
