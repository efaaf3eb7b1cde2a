import { isIP } from "node:net";
import { z } from "zod";

const hostName = z
  .string()
  .max(253)
  .regex(/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/, "expected the full name of a host in lower case, such as example.com");

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
    /** For a page from the first connection to the last byte, redirects included; for its text; for a document; for a call. */
    timeoutMs: z.int().min(100).max(60_000).default(15_000),
    /** RPC URLs by chain id; the agent's own chain has its own already. */
    rpcUrls: z
      .record(
        z.string().regex(/^[1-9]\d{0,15}$/, "expected a chain id in decimal"),
        z.url({ protocol: /^https?$/, error: "expected an http or https URL" }),
      )
      .default({}),
  })
  .prefault({});

export type SourcesConfig = z.infer<typeof sourcesConfigSchema>;
