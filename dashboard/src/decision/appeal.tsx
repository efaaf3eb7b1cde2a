import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { RequestUpdate } from "../../../sdk/src/index.ts";
import { lockedWhile } from "../shared/focus.ts";
import { price } from "../shared/format.ts";
import { Trouble } from "../shared/trouble.tsx";
import { GiveUp } from "../wallet/give-up.tsx";
import { useSending } from "../wallet/use-sending.ts";
import { SendTrouble } from "../wallet/wrong-chain.tsx";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  readonly requestId: bigint;
  readonly terms: RequestUpdate["request"]["terms"];
  /** The attempt whose decision stands: each has its own bond. */
  readonly attempt: number;
}

/** Offers to call a larger committee, with its price. */
export function Appeal({ requestId, terms, attempt }: Props): ReactElement | null {
  const { conclave, settings, account } = useDashboard();
  const bondPrice = useQuery({
    queryKey: ["bond", settings, String(requestId), attempt],
    queryFn: async ({ signal }) => {
      const [bond, { feeToken }] = await Promise.all([conclave.appealBond(requestId, signal), conclave.terms()]);
      const { symbol, decimals } = terms.currency === "token" ? feeToken : { symbol: "ETH", decimals: 18 };
      return { bond, shown: price(bond, decimals, symbol) };
    },
  });
  const appeal = useSending({
    what: ["appeal", settings, String(requestId), attempt],
    mutationFn: (bond: bigint) => conclave.appeal(requestId, bond),
  });
  if (bondPrice.data === undefined) return bondPrice.error === null ? null : <Trouble error={bondPrice.error} />;
  const { bond, shown } = bondPrice.data;
  return (
    <div className="stack">
      <p className="small">
        An appeal calls a larger committee. Its bond is <strong className="number">{shown}</strong>: it comes back, with
        a part of the pay of those who were wrong, if the new committee decides otherwise. Else it pays that committee.
      </p>
      <div className="row">
        <button type="button" disabled={account === null} {...lockedWhile(appeal.isSending, () => appeal.send(bond))}>
          {appeal.isSending ? "Appealing…" : `Appeal for ${shown}`}
        </button>
        {account === null && <span className="soft small">Connect a wallet to appeal.</span>}
      </div>
      <GiveUp sending={appeal} />
      <SendTrouble error={appeal.error} />
    </div>
  );
}
