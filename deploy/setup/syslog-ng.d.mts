export function ensureSyslogNg(root: string): Promise<{ program: string; args: string[]; env: Record<string, string> }>
