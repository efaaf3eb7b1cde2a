export function AskPage() { return <p>soon</p>; }
