import type { EventFacts } from './features.js'

/**
 * What an event states about its caller when it reaches the inference stage. The mix of services differs between
 * patterns, and an identity is evidence only where labelled events have stated it.
 */
export const PATTERNS = [
  /** States no identity. */
  'anonymous',
  /**
   * States an identity that labelled events have stated too: a shared account, or a person who works for several
   * services.
   */
  'familiar',
  /** States an identity that no labelled event has stated. */
  'unfamiliar',
] as const
export type Pattern = (typeof PATTERNS)[number]

export function patternOf({ identityHash }: EventFacts, isFamiliar: (identityHash: string) => boolean): Pattern {
  if (!identityHash) return 'anonymous'
  return isFamiliar(identityHash) ? 'familiar' : 'unfamiliar'
}

/**
 * Capture contexts of an event, from general to specific. The context determines whether events have labels, and the
 * mix of services differs between contexts; the features of the calls of one service do not.
 */
export const contextsOf = (
  { ingestionLayer, principal }: EventFacts,
  pattern: Pattern,
): readonly [pattern: string, layer: string, principal: string] => [
  pattern,
  `${pattern}\0${ingestionLayer}`,
  `${pattern}\0${ingestionLayer}\0${principal}`,
]

/** The reverse of `contextsOf`, for a context with a credential. */
export function contextNamed(name: string): { pattern: Pattern; ingestionLayer: string; principal: string } {
  const [pattern = '', ingestionLayer = '', principal = ''] = name.split('\0')
  return { pattern: PATTERNS.find((one) => one === pattern) ?? 'anonymous', ingestionLayer, principal }
}

/** The facts that the facts stage decides by on their own, as the directory has them now. */
export interface DirectoryFacts {
  /** Whether this identity alone resolves an event. */
  readonly resolvesIdentity: (identityHash: string) => boolean
  /** Whether this credential alone resolves an event. */
  readonly resolvesPrincipal: (principal: string) => boolean
}

export const NO_DIRECTORY: DirectoryFacts = { resolvesIdentity: () => false, resolvesPrincipal: () => false }

/**
 * A labelled event as it would have reached the inference stage: its service is hidden, and so is an identity by which
 * the facts stage would still have resolved it. The other events of its trace stay visible, without their services.
 */
export function asUnresolved(facts: EventFacts, { resolvesIdentity }: DirectoryFacts): EventFacts {
  const { identityHash, ...rest } = facts
  return identityHash && !resolvesIdentity(identityHash) ? facts : rest
}
