import type { Dependency } from 'attribution-service/sdk/api'

/** What of the service does not answer, as `GET /readyz` says it. */
export interface Outage {
  readonly what: string
  /** By the clock of the service. */
  readonly sinceMs: number
  readonly meaning: string
}

/** In the order in which they matter to a person who reads figures. */
const WHAT: readonly { readonly name: string; readonly what: string; readonly meaning: string }[] = [
  {
    name: 'store',
    what: 'The store of calls does not answer',
    meaning: 'What you see was read before, and is read again by itself.',
  },
  {
    name: 'broker',
    what: 'The message log does not answer',
    meaning: 'Newer calls show once it does.',
  },
  {
    name: 'credentials',
    what: 'Changes of keys and people do not come through',
    meaning: 'Those that were valid still are.',
  },
]

const KEPT = 'New calls are taken and kept meanwhile: none is lost.'
const REFUSED = 'New calls are refused meanwhile: senders must repeat them.'

/**
 * @param dependencies undefined where the service says nothing of them
 * @param takesCalls undefined where it is not known
 * @returns undefined while all answer
 */
export function outageOf(
  dependencies: readonly Dependency[] | undefined,
  takesCalls: boolean | undefined,
): Outage | undefined {
  for (const { name, what, meaning } of WHAT) {
    const found = dependencies?.find((each) => each.name === name && each.status === 'down')
    if (found === undefined) continue
    const ofCalls = takesCalls === undefined ? [] : [takesCalls ? KEPT : REFUSED]
    return { what, sinceMs: Date.parse(found.since), meaning: [...ofCalls, meaning].join(' ') }
  }
  return undefined
}
