import { cidString } from "../../core/encoding/cid.ts";
import { parseCid } from "./cid.ts";
import type { CommandSpec } from "../shared/command.ts";
import { rows } from "../shared/output.ts";
import { openPinningService, servicesFlag, type ServicesFlag } from "./pinning.ts";

export const pinningRemove: CommandSpec<ServicesFlag> = {
  example: "conclave pinning remove example bafy...",
  options: [servicesFlag],
  run: async ({ args, options, host }) => {
    const [name, text = ""] = args;
    const root = parseCid(text, "<cid>", "give the CID of a transcript, bafyrei...");
    const service = await openPinningService(name, options, host);
    const ids: string[] = [];
    for await (const { id, cid } of service.list(root, host.signal)) if (cid === text) ids.push(id);
    for (const id of ids) await service.remove(id, host.signal);
    const cid = cidString(root);
    return {
      json: { cid, removed: ids.length },
      text: rows([
        ["transcript", cid],
        ["removed", ids.length === 0 ? "nothing: the service keeps no such pin" : `${ids.length} requests`],
      ]),
    };
  },
};
