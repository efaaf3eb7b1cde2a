import type { RemotePin } from "../../adapters/ipfs/pinning-service.ts";
import type { CommandSpec } from "../shared/command.ts";
import { grid, printable } from "../shared/output.ts";
import { openPinningService, servicesFlag, type ServicesFlag } from "./pinning.ts";

export const pinningList: CommandSpec<ServicesFlag> = {
  example: "conclave pinning list example --services pinning.json",
  options: [servicesFlag],
  run: async ({ args, options, host }) => {
    const service = await openPinningService(args[0], options, host);
    const pins: RemotePin[] = [];
    for await (const pin of service.list(null, host.signal)) pins.push(pin);
    const lines = pins.map(({ cid, state, created, name }) => [cid, state, created, name ?? ""].map(printable));
    return { json: { pins }, text: grid(["transcript", "state", "since", "name"], lines) };
  },
};
