import { isIP } from "node:net";
import { z } from "zod";
import { apiKeyFields, environmentName, hasNoCredentials } from "../api-key.ts";

const hostName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/, "expected the full name of a host in lower case, such as example.com");

/** What stands for the words of a search in the arguments of its tool. */
export const WORDS_PLACE = "{words}";

const toolFields = {
  tool: z.string().min(1).max(200),
  /** The tool's arguments; in their strings `{words}` stands for the words of the search. */
  arguments: z
    .record(z.string().max(200), z.json())
    .refine(
      (template) => JSON.stringify(template).includes(WORDS_PLACE),
      `expected ${WORDS_PLACE} in some text, in place of what is to be found`,
    )
    .refine(
      (template) => JSON.stringify(template).length <= MAX_TEMPLATE,
      "expected fewer arguments: 10,000 characters",
    )
    .default({ query: WORDS_PLACE }),
};
const MAX_TEMPLATE = 10_000;

/** EV16: the operator's search tool, at an MCP server that is started for each search, or that runs somewhere. */
const searchConfigSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("stdio"),
    command: z.string().min(1).max(4096),
    args: z.array(z.string().max(4096)).max(64).default([]),
    /** Names of the agent's environment variables that the server gets beside the usual ones, such as that of a key. */
    env: z.array(environmentName).max(64).default([]),
    ...toolFields,
  }),
  z
    .strictObject({
      kind: z.literal("http"),
      url: z
        .url({ protocol: /^https?$/, error: "expected an http or https URL" })
        .refine(hasNoCredentials, "give the key by apiKeyEnv, not in the URL"),
      ...apiKeyFields,
      ...toolFields,
    })
    .refine(
      ({ apiKeyFile, apiKeyEnv }) => apiKeyFile === undefined || apiKeyEnv === undefined,
      "give apiKeyFile or apiKeyEnv, not both",
    ),
]);

export type SearchConfig = z.infer<typeof searchConfigSchema>;

/** EV5, EV6: how an operator's agent reads what questions name. */
export const sourcesConfigSchema = z
  .strictObject({
    /** Hosts that are connected to at a fixed address, public or not, and perhaps at another port. */
    hosts: z
      .record(
        hostName,
        z.strictObject({
          address: z.string().refine((text) => isIP(text) !== 0, "expected an IP address such as 127.0.0.1"),
          port: z.int().min(1).max(65_535).default(443),
          /** PEM file of the authority that signs the host's certificate. */
          ca: z.string().min(1).optional(),
        }),
      )
      .default({}),
    /** Hosts that are not read, with all names below them. */
    deny: z.array(hostName).max(1024).default([]),
    /** HTTP proxy for all hosts but those above; it looks the names up, so the address checks are its own. */
    proxyUrl: z.url({ protocol: /^https?$/ }).optional(),
    /** Most bytes of a body, decompressed. */
    maxBytes: z.int().min(1024).max(5_000_000).default(5_000_000),
    /** For a page from the first connection to the last byte, redirects included; for its text (EV10); for a document; for a call. */
    timeoutMs: z.int().min(100).max(60_000).default(15_000),
    /** RPC URLs by chain id; the agent's own chain has its own already. */
    rpcUrls: z
      .record(
        z.string().regex(/^[1-9]\d{0,15}$/, "expected a chain id in decimal"),
        z.url({ protocol: /^https?$/, error: "expected an http or https URL" }),
      )
      .default({}),
    /** Absent: what questions want to be found is not found. */
    search: searchConfigSchema.optional(),
  })
  .prefault({});

export type SourcesConfig = z.infer<typeof sourcesConfigSchema>;
