import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import type { RequestUpdate } from "../../../sdk/src/index.ts";
import { price } from "../shared/format.ts";
import { Trouble } from "../shared/trouble.tsx";
import { useDashboard } from "../dashboard.tsx";

interface Props {
  readonly requestId: bigint;
  readonly terms: RequestUpdate["request"]["terms"];
}

/** Offers to call a larger committee, with its price. */
export function Appeal({ requestId, terms }: Props): ReactElement | null {
  const { conclave, settings, account } = useDashboard();
  const bondPrice = useQuery({
    queryKey: ["bond", settings, String(requestId)],
    queryFn: async ({ signal }) => {
      const [bond, { feeToken }] = await Promise.all([conclave.appealBond(requestId, signal), conclave.terms()]);
      const { symbol, decimals } = terms.currency === "token" ? feeToken : { symbol: "ETH", decimals: 18 };
      return price(bond, decimals, symbol);
    },
  });
  const appeal = useMutation({ mutationFn: () => conclave.appeal(requestId) });
  if (bondPrice.data === undefined) return bondPrice.error === null ? null : <Trouble error={bondPrice.error} />;
  return (
    <div className="stack">
      <p className="small">
        An appeal calls a larger committee. Its bond is <strong className="number">{bondPrice.data}</strong>: it comes
        back, with a part of the pay of those who were wrong, if the new committee decides otherwise. Else it pays that
        committee.
      </p>
      <div className="row">
        <button type="button" disabled={account === null || appeal.isPending} onClick={() => appeal.mutate()}>
          {appeal.isPending ? "Appealing…" : `Appeal for ${bondPrice.data}`}
        </button>
        {account === null && <span className="soft small">Connect a wallet to appeal.</span>}
      </div>
      {appeal.error !== null && <Trouble error={appeal.error} />}
    </div>
  );
}
