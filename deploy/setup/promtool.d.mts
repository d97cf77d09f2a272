export function ensurePromtool(root: string): Promise<string>
