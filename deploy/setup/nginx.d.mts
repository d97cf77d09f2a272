export function ensureNginx(root: string): Promise<string>
