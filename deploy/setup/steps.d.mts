export class SetUpError extends Error {}
export function step<T>(what: string, work: () => Promise<T>): Promise<T>
export function runSetUpMain(main: () => Promise<void>): Promise<void>
export function explainFileError(error: unknown): unknown
export function together<T extends readonly unknown[]>(steps: T): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>
