export function isEntry(source: string, code: string): boolean
export function ensureBundles(root: string, sources: readonly string[]): Promise<void>
export function bundledOutputs(root: string): string[]
