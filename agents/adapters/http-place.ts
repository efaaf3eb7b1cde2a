import { z } from "zod";
import { isLoopback } from "./http-server.ts";

/** Where an agent serves what asks for no password. */
export const httpPlaceFields = {
  host: z
    .string()
    .regex(/^[^\s/[\]]{1,253}$/, "expected an address or a name such as 127.0.0.1 or ::1, without a port")
    .default("127.0.0.1"),
  /** 0 takes a free port. */
  port: z.int().min(0).max(65_535),
  /** True lets everybody read who reaches the host. */
  public: z.boolean().default(false),
};

/** True if the place is on this machine alone, or other machines are let in on purpose. */
export function isMeant({ host, public: isPublic }: { readonly host: string; readonly public: boolean }): boolean {
  return isPublic || isLoopback(host);
}

/** The error of a place that is not meant. */
export const notMeant = {
  path: ["host"],
  error: 'other machines reach it, and nobody is asked for a password: add "public": true to allow that',
};
