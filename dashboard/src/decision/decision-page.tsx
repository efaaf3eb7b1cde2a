export function DecisionPage({ id }: { readonly id: string }) { return <p>{id}</p>; }
