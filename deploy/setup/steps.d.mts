export class SetUpError extends Error {}
export function step<T>(what: string, work: () => Promise<T>): Promise<T>
export function runSetUpMain(main: () => Promise<void>): Promise<void>
export function explainFileError(error: unknown): unknown
