export const CONSOLE_APP: string
export function ensureConsole(root: string): Promise<void>
