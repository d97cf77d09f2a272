/**
 * Which nats-servers keep what they acknowledge. Message schedules came with 2.12.0; 2.12.1 to 2.12.4 can lose
 * acknowledged messages (nats-server#7664, #7817), and 2.12.0 has the same files.
 */
export const NATS_SERVER_LEAST = '2.12.5'

/** @returns why a nats-server is not used; undefined when it may be, also one that does not say its version */
export function refusalOf(version: string): string | undefined {
  const parts = partsOf(version)
  if (parts === undefined) return undefined
  const [major, minor, patch] = parts
  if (major > 2 || (major === 2 && (minor > 12 || (minor === 12 && patch >= 5)))) return undefined
  const why = major === 2 && minor === 12 ? 'can lose messages that it has acknowledged' : 'is too old'
  return `nats-server ${version} ${why}: ${NATS_SERVER_LEAST} or newer is required`
}

/**
 * Whether a nats-server stores groups of messages (ADR-50) without a known fault. Before 2.12.8 the beginning of a group
 * may lock it up, before 2.12.9 and 2.14.1 entries of replicas are freed twice, and before 2.12.12 and 2.14.3 it may
 * panic while a replica catches up with a group.
 */
export function storesGroups(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = partsOf(version) ?? []
  if (major !== 2) return major > 2
  if (minor === 12) return patch >= 12
  return minor === 14 ? patch >= 3 : minor > 14
}

function partsOf(version: string): readonly [number, number, number] | undefined {
  const parts = /^(\d+)\.(\d+)\.(\d+)/.exec(version)
  return parts === null ? undefined : (parts.slice(1).map(Number) as [number, number, number])
}
