export function AgentPage({ id }: { readonly id: string }) { return <p>{id}</p>; }
