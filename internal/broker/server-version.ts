/**
 * Which nats-servers keep what they acknowledge. Message schedules came with 2.12.0; 2.12.1 to 2.12.4 can lose
 * acknowledged messages (nats-server#7664, #7817), and 2.12.0 has the same files.
 */
export const NATS_SERVER_LEAST = '2.12.5'

/** @returns why a nats-server is not used; undefined when it may be, also one that does not say its version */
export function refusalOf(version: string): string | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)
  if (parts === null) return undefined
  const [major, minor, patch] = parts.slice(1).map(Number) as [number, number, number]
  if (major > 2 || (major === 2 && (minor > 12 || (minor === 12 && patch >= 5)))) return undefined
  const why = major === 2 && minor === 12 ? 'can lose messages that it has acknowledged' : 'is too old'
  return `nats-server ${version} ${why}: ${NATS_SERVER_LEAST} or newer is required`
}
