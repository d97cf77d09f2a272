import { type ModelCall, member, textIn, tierIn } from './event.js'

/** What an answer of a provider says about itself. Only counts and names are read, never what was said. */
export type AnswerFacts = Pick<
  ModelCall,
  'served_model' | 'provider_usage' | 'service_tier' | 'speed' | 'region' | 'response_id'
>

/** An answer, or a part of a streamed one, of OpenAI: chat completions, responses, embeddings. */
export const openAiFacts = (answer: unknown): AnswerFacts => ({
  served_model: textIn(answer, 'model'),
  provider_usage: numbersIn(member(answer, 'usage')),
  service_tier: tierIn(answer),
  response_id: textIn(answer, 'id'),
})

/** A message of Anthropic. */
export function anthropicFacts(message: unknown): AnswerFacts {
  const usage = member(message, 'usage')
  return {
    served_model: textIn(message, 'model'),
    provider_usage: numbersIn(usage),
    service_tier: tierIn(usage),
    speed: textIn(usage, 'speed') === 'fast' ? 'fast' : undefined,
    region: geographyIn(usage),
    response_id: textIn(message, 'id'),
  }
}

/** Where Anthropic processed the call, which it charges for; `global` and `not_available` name no place. */
function geographyIn(usage: unknown): string | undefined {
  const geography = textIn(usage, 'inference_geo')
  return geography !== undefined && /^[a-z]{2}$/.test(geography) ? geography : undefined
}

/** What is known after a further part of a stream: what it states replaces what was stated before. */
export function withFacts(known: AnswerFacts, more: AnswerFacts): AnswerFacts {
  const stated = Object.entries(more).filter(([, value]) => value !== undefined)
  const facts = { ...known, ...Object.fromEntries(stated) }
  if (known.provider_usage == null || more.provider_usage == null) return facts
  return { ...facts, provider_usage: { ...known.provider_usage, ...more.provider_usage } }
}

/** A part of a stream of OpenAI: a chunk of a chat, or an event of the Responses API, which holds the response. */
export const openAiPartFacts = (part: unknown): AnswerFacts => openAiFacts(member(part, 'response') ?? part)

/** An event of a stream of Anthropic: `message_start` has the message, `message_delta` has counts up to now. */
export function anthropicPartFacts(event: unknown): AnswerFacts {
  const message = member(event, 'message')
  return message === undefined ? { provider_usage: numbersIn(member(event, 'usage')) } : anthropicFacts(message)
}

interface Numbers {
  [name: string]: number | Numbers | Numbers[]
}

/** As the service takes them. */
const DEPTH_MAX = 3
const MEMBERS_MAX = 32
const LIST_MAX = 256

/** The numbers of a usage object, by their names: how they are counted is for the service to know. */
function numbersIn(usage: unknown): ModelCall['provider_usage'] | undefined {
  const numbers = numbersWithin(usage, 1)
  return numbers === undefined ? undefined : (numbers as NonNullable<ModelCall['provider_usage']>)
}

function numbersWithin(value: unknown, depth: number): Numbers | undefined {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return undefined
  const numbers: Numbers = {}
  for (const [name, inner] of Object.entries(value)) {
    if (Object.keys(numbers).length === MEMBERS_MAX) break
    const found = Array.isArray(inner) && depth === 1 ? listWithin(inner) : numberOrNumbers(inner, depth)
    if (found !== undefined) numbers[name] = found
  }
  return Object.keys(numbers).length === 0 ? undefined : numbers
}

const numberOrNumbers = (value: unknown, depth: number): number | Numbers | undefined =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
    ? value
    : Array.isArray(value)
      ? undefined
      : numbersWithin(value, depth + 1)

function listWithin(values: readonly unknown[]): Numbers[] | undefined {
  const found = values.slice(0, LIST_MAX).map((value) => numbersWithin(value, 2) ?? {})
  return found.length === 0 ? undefined : found
}
