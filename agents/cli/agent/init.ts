import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { LOCAL_CHAINS } from "../../adapters/chain/beacon.ts";
import { modelFile } from "../../adapters/model-files/folder.ts";
import { checkTemplate, readGgufHeader } from "../../adapters/models/gguf.ts";
import { providerIds } from "../../adapters/models/openai-providers.ts";
import { ConclaveError } from "../../core/errors.ts";
import type { Address } from "../../core/types.ts";
import { parseChoice, parseFolder } from "../shared/arguments.ts";
import { deploymentFlag, findChainConfig, rpcFlag, type ChainFlags } from "../shared/chain-source.ts";
import type { CliHost, CommandSpec } from "../shared/command.ts";
import {
  CONFIG_FILE,
  DEFAULT_DIR,
  KEYSTORE_FILE,
  checkAgentConfig,
  configExists,
  writeAgentConfig,
  type AgentConfig,
} from "../shared/config.ts";
import { makeFolderOf } from "../shared/folder.ts";
import {
  agentPlaces,
  keystoreAddress,
  newKeystore,
  newPassword,
  operatorPasswordFlag,
  operatorPlaces,
  passwordFlag,
  type OperatorFlags,
} from "../shared/keys.ts";
import { rows } from "../shared/output.ts";

interface Options extends Omit<ChainFlags, "dir">, OperatorFlags {
  readonly finalityDepth?: string;
  readonly modelPath?: string;
  readonly modelUrl?: string;
  readonly modelName?: string;
  readonly modelProvider?: string;
  readonly apiKeyEnv?: string;
  readonly apiKeyFile?: string;
  readonly listen?: readonly string[];
  readonly announce?: readonly string[];
  readonly kubo?: string;
}

/** The operator's keystore in a new folder. */
const OPERATOR_FILE = "operator.json";

export const agentInit: CommandSpec<Options> = {
  example: "conclave agent init --dir ./my-agent --deployment deployments/31337.json --rpc http://127.0.0.1:8545",
  options: [
    { flags: "--dir <dir>", description: "folder to make", default: DEFAULT_DIR },
    passwordFlag,
    {
      flags: "--operator-keystore <file>",
      description: `keystore of the account that owns the stake (default: a new one, ${OPERATOR_FILE} in the folder)`,
    },
    operatorPasswordFlag,
    deploymentFlag,
    rpcFlag,
    { flags: "--chain-id <number>", description: "chain id (default: that of the deployment, or what the node says)" },
    { flags: "--oracle <address>", description: "address of the DecisionOracle" },
    { flags: "--registry <address>", description: "address of the AgentRegistry" },
    { flags: "--finality-depth <blocks>", description: "blocks on top of an event before the agent acts on it" },
    {
      flags: "--model-path <file>",
      description:
        "GGUF file of an embedded model, or the name of a pulled one (default: the small model of this repository)",
    },
    {
      flags: "--model-url <url>",
      description: "or an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1",
      excludes: ["modelPath"],
    },
    { flags: "--model-name <name>", description: "model on that server" },
    {
      flags: "--model-provider <name>",
      description: `what the server is: ${providerIds.join(", ")} (default: openai)`,
    },
    { flags: "--api-key-env <name>", description: "environment variable that holds the server's API key" },
    { flags: "--api-key-file <file>", description: "file that holds the server's API key" },
    { flags: "--listen <multiaddr...>", description: "where other agents connect (default: a free port of 127.0.0.1)" },
    { flags: "--announce <multiaddr...>", description: "what others dial, where that differs (NAT, DNS name)" },
    { flags: "--kubo <url>", description: "keep blocks in a Kubo node instead of the agent itself" },
  ],
  run: async ({ options, host }) => {
    const directory = resolve(host.cwd, parseFolder(options.dir, "--dir"));
    const file = join(directory, CONFIG_FILE);
    if (existsSync(file)) throw configExists(file);
    const config = await buildConfig(options, host);
    const password = await newPassword(agentPlaces(options.passwordFile, host), host);
    const operatorKeystore = resolve(directory, config.operatorKeystore ?? OPERATOR_FILE);
    const given = options.operatorKeystore === undefined ? null : await keystoreAddress(operatorKeystore);
    const operatorPassword = given === null ? await newPassword(operatorPlaces(options, host), host) : "";
    await makeFolderOf("--dir", directory, 0o700);
    const keystore = join(directory, KEYSTORE_FILE);
    const { address: signer } = await newKeystore(keystore, password, host);
    const operator = given ?? (await newKeystore(operatorKeystore, operatorPassword, host)).address;
    await writeAgentConfig(directory, config);
    return {
      json: { dir: directory, signer, operator, config: file, keystore, operatorKeystore },
      text: rows([
        ["folder", directory],
        ["signer", `${signer} (${keystore})`],
        ["operator", `${operator} (${operatorKeystore})`],
        ["chain", `${config.chain.chainId} (oracle ${config.chain.oracle})`],
        [
          "next",
          `${fundingOf(config, operator, signer, options.dir)}, then: conclave agent register --dir ${options.dir} --stake AMOUNT; after that keep the operator's keystore away from this machine`,
        ],
      ]),
    };
  },
};

/** How operator and signer come by coins and tokens: a local chain has a faucet. */
function fundingOf({ chain }: AgentConfig, operator: Address, signer: Address, directory: string): string {
  if (!LOCAL_CHAINS.includes(chain.chainId)) return "send the operator the stake, and both coins for gas";
  return [operator, signer].map((to) => `conclave account fund ${to} --dir ${directory}`).join(", and ");
}

async function buildConfig(options: Options, host: CliHost): Promise<AgentConfig> {
  const { dir: _, ...flags } = options;
  const chain = await findChainConfig(flags, host);
  const { finalityDepth, operatorKeystore, announce, kubo } = options;
  const draft = {
    chain: { ...chain, ...(finalityDepth === undefined ? {} : { finalityDepth: Number(finalityDepth) }) },
    keystore: KEYSTORE_FILE,
    operatorKeystore: operatorKeystore === undefined ? OPERATOR_FILE : resolve(host.cwd, operatorKeystore),
    model: modelOf(options, host),
    ...(options.listen === undefined ? {} : { listen: options.listen }),
    ...(announce === undefined ? {} : { announce }),
    content: kubo === undefined ? { kind: "helia" } : { kind: "kubo", url: kubo },
    timing: {},
    dataDir: "data",
  };
  return checkAgentConfig(draft, "the options");
}

function modelOf(options: Options, host: CliHost): object {
  const { modelPath, modelUrl, modelName, modelProvider, apiKeyEnv, apiKeyFile } = options;
  if (modelUrl === undefined) {
    const ofServer = [
      ["--model-name", modelName],
      ["--model-provider", modelProvider],
      ["--api-key-env", apiKeyEnv],
      ["--api-key-file", apiKeyFile],
    ] as const;
    for (const [option, value] of ofServer)
      if (value !== undefined)
        throw new ConclaveError("USAGE", `Choose the model: ${option} is of a server: give --model-url as well`, {
          option,
        });
    return {
      kind: "llama",
      path: ggufAt(modelPath === undefined ? smallModel() : modelFile(modelPath, host.cwd, host.environment)),
    };
  }
  if (modelName === undefined)
    throw new ConclaveError("USAGE", "Choose the model: --model-url needs --model-name as well", {
      option: "--model-name",
    });
  return {
    kind: "openai",
    ...(modelProvider === undefined ? {} : { provider: parseChoice(modelProvider, "--model-provider", providerIds) }),
    url: modelUrl,
    model: modelName,
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
    ...(apiKeyFile === undefined ? {} : { apiKeyFile: resolve(host.cwd, apiKeyFile) }),
  };
}

/** Returns the path if it is a GGUF file of a model that answers. Throws MODEL_FILE_MISSING, MODEL_FILE_BROKEN or MODEL_TEMPLATE_MISSING. */
function ggufAt(path: string): string {
  try {
    checkTemplate(path, readGgufHeader(path));
    return path;
  } catch (error) {
    if (!(error instanceof ConclaveError)) throw error;
    const { code, data } = error;
    const option = "--model-path";
    const reason = code === "MODEL_FILE_MISSING" ? `it cannot be opened (${data["reason"]})` : data["reason"];
    const message = `Choose the model: ${option} ${path} is unusable: ${reason}; name a GGUF file, or a server with --model-url`;
    throw new ConclaveError(code, message, { ...data, option }, error);
  }
}

/** Returns the small model of this repository: it is for trials, not for real decisions. */
function smallModel(): string {
  return join(import.meta.dirname, "../../../models/conclave-small.gguf");
}
