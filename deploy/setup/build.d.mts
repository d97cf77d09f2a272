export function outputOf(source: string): string | undefined
export function ensureBuild(root: string): Promise<void>
