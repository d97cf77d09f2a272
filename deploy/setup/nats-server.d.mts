export const NATS_SERVER_LEAST: string
export interface Candidate {
  path: string
  isNamed: boolean
}
export function candidates(env: Readonly<Record<string, string | undefined>>, root: string): Candidate[]
export function firstNewEnough(
  list: readonly Candidate[],
  versionOf: (path: string) => Promise<string | undefined>,
): Promise<string | undefined>
export function ensureNatsServer(root: string): Promise<string>
export function noteOn(digest: string, version: string): string | undefined
