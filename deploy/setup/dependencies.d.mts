export function isInstalled(lockText: string, noteText: string): boolean
export function isPartial(lockText: string): boolean
export function ensureDependencies(root: string): Promise<void>
export function requireEngine(root: string): void
export function explainNpm(output: string): string
export function linkProgram(root: string): void
export function removeForeignBinaries(modules: string, system?: string): void
