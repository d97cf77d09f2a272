import { nameOf, tagsOf } from '../adapters/fields.js'
import { FACT, type Fact, type FactValue } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/** Who called, and the tags, as a span or log record states them. */
export interface Labels {
  readonly person: string | undefined
  readonly tags: Record<string, string> | undefined
}

/** Properties that applications set freely, under names that mean a person: an identity is never kept as a tag. */
const PERSON_KEYS = new Set('user userid username useremail email enduser enduserid'.split(' '))
const SESSION_KEYS = new Set('session sessionid conversationid threadid chatid'.split(' '))
/** What a client says of itself, which is `caller.user-agent`. */
const NOISE = new Set(['useragent'])
const comparable = (key: string): string => key.replace(/[-_.\s]/g, '').toLowerCase()

const IDENTITY = [FACT.identity]
const NO_TAGS: readonly (readonly [key: string, value: unknown])[] = []
/** Of the span or its resource. */
const TAG_FACTS = [FACT.environment, FACT.workflow, FACT.agent, FACT.userAgent, FACT.session]

/** Whether there may be tags, or people under names of an application's own: most spans have neither. */
function saysMore({ facts, resource }: Telemetry): boolean {
  for (const fact of TAG_FACTS) if (facts.get(fact) !== undefined || resource.get(fact) !== undefined) return true
  return (
    facts.tags.size > 0 ||
    resource.tags.size > 0 ||
    facts.get(FACT.labels) !== undefined ||
    facts.get(FACT.metadata) !== undefined
  )
}

function firstName({ facts, resource }: Telemetry, identities: readonly Fact[]): string | undefined {
  for (const fact of identities) {
    const name = nameOf(facts.get(fact) ?? resource.get(fact))
    if (name !== undefined) return name
  }
  return undefined
}

/**
 * @param identities facts that name who called, the strongest first
 * @param first tags before all others
 */
export function labelsOf(
  telemetry: Telemetry,
  identities: readonly Fact[] = IDENTITY,
  first: Iterable<readonly [key: string, value: unknown]> = NO_TAGS,
): Labels {
  if (first === NO_TAGS && !saysMore(telemetry)) return { person: firstName(telemetry, identities), tags: undefined }
  const { facts, resource } = telemetry
  const either = (fact: Fact): FactValue | undefined => facts.get(fact) ?? resource.get(fact)
  const pairs: (readonly [key: string, value: unknown])[] = [...first]
  const add = (key: string, value: unknown): void => {
    if (value !== undefined) pairs.push([key, value])
  }
  add('environment', either(FACT.environment))
  add('workflow', either(FACT.workflow))
  add('agent', either(FACT.agent))
  // As all that callers say of themselves, below `caller.`.
  add('caller.user-agent', either(FACT.userAgent))
  const labels = facts.get(FACT.labels)
  add('labels', Array.isArray(labels) ? labels.join(',') : labels)

  const people: unknown[] = identities.map(either)
  const sessions: unknown[] = [either(FACT.session)]
  // Of LiteLLM, what is worth a tag is among the first.
  const members = first === NO_TAGS ? membersOf(facts.get(FACT.metadata)) : NO_MEMBERS
  const free = [facts.tags, resource.tags, members]
  for (const group of free) {
    for (const [key, value] of group) {
      const name = comparable(key)
      if (PERSON_KEYS.has(name)) people.push(value)
      else if (SESSION_KEYS.has(name)) sessions.push(value)
      else if (!NOISE.has(name)) add(key, value)
    }
  }
  const session = nameOf(...sessions)
  if (session !== undefined) pairs.unshift(['session_id', session])
  return { person: nameOf(...people), tags: pairs.length === 0 ? undefined : tagsOf(pairs) }
}

const NO_MEMBERS: [key: string, value: unknown][] = []

/** The members of a JSON object in a text; of another text no part can be told from content. */
export function membersOf(value: FactValue | undefined): [key: string, value: unknown][] {
  if (typeof value !== 'string' || !value.startsWith('{')) return NO_MEMBERS
  try {
    return Object.entries(JSON.parse(value) as object)
  } catch {
    return []
  }
}
