import { z } from "zod";
import { httpPlaceFields, isMeant, notMeant } from "../http-place.ts";

/** An origin as browsers send it. */
const ORIGIN = /^https?:\/\/[^/\s]{1,253}$/;
/** Fewer than the connections that a server takes: those that ask need room, too. */
const MOST_CLIENTS = 100;

/** LV4, LV5: where an agent streams what its committees say. An agent without it streams nothing. */
export const liveConfigSchema = z
  .strictObject({
    ...httpPlaceFields,
    /** Pages that may watch, by their origin; "*" is any page. */
    origins: z
      .array(z.literal("*").or(z.string().regex(ORIGIN)), "expected origins such as https://page.example, or *")
      .max(16)
      .default([]),
    /** Streams at the same time. */
    clients: z.int().min(1).max(MOST_CLIENTS).default(64),
    /** Streams of one address, or one /64 network of IPv6, at the same time; behind a proxy all watchers have the proxy's. */
    clientsPerAddress: z.int().min(1).max(MOST_CLIENTS).default(8),
  })
  .refine(isMeant, notMeant);

export type LiveConfig = z.infer<typeof liveConfigSchema>;
