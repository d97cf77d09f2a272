import { type ModelCall, member, textIn } from './event.js'
import { type AnswerFacts, withFacts } from './usage.js'

/** How a provider's client says what a call was. */
export interface Dialect {
  readonly provider: string
  /** Methods that call a model, as paths from the client. */
  readonly methods: readonly string[]
  readonly answerFacts: (answer: unknown) => AnswerFacts
  readonly partFacts: (part: unknown) => AnswerFacts
  /** The parameters that a streamed call needs to state its usage; undefined when they need no change. */
  readonly askForUsage?: ((parameters: object) => object | undefined) | undefined
  /** A part that only states what was asked for by `askForUsage`: the caller does not expect it. */
  readonly isUsageOnly?: ((part: unknown) => boolean) | undefined
}

type Method = (this: unknown, ...args: unknown[]) => unknown
const WRAPPED = Symbol('recorded by the Attribution Service')

/**
 * Replaces a client's methods by ones that also record each call. The client, its answers and its streams stay what
 * they are; a failure to observe one is never seen by the caller.
 */
export function wrapClient<T extends object>(client: T, dialect: Dialect, record: (call: ModelCall) => void): T {
  for (const path of dialect.methods) {
    const names = path.split('.')
    const name = names.pop() ?? ''
    const owner = names.reduce<unknown>(member, client)
    const original = member(owner, name)
    if (typeof original !== 'function' || WRAPPED in original) continue
    const wrapped: Method = function (this: unknown, parameters: unknown, ...rest) {
      const startedAt = performance.now()
      const more = member(parameters, 'stream') === true ? dialect.askForUsage?.(parameters as object) : undefined
      const answered = (original as Method).call(this, more ?? parameters, ...rest)
      const call: ModelCall = {
        provider: dialect.provider,
        requested_model: textIn(parameters, 'model') ?? 'unknown',
        ingestion_timestamp: new Date().toISOString(),
      }
      const done: Done = (facts, outcome) =>
        quietly(() => record({ ...call, ...facts, outcome, latency_ms: Math.round(performance.now() - startedAt) }))
      observe(answered, dialect, more !== undefined, done)
      return answered
    }
    quietly(() => {
      ;(owner as Record<string, unknown>)[name] = Object.assign(wrapped, { [WRAPPED]: true })
    })
  }
  return client
}

type Done = (facts: AnswerFacts, outcome: NonNullable<ModelCall['outcome']>) => void

/** A call that fails was not answered, and is not recorded. */
function observe(answered: unknown, dialect: Dialect, asked: boolean, done: Done): void {
  const settled = (answer: unknown): void =>
    quietly(() => {
      if (isStream(answer)) observeStream(answer, dialect, asked, done)
      else done(dialect.answerFacts(answer), 'success')
    })
  if (typeof member(answered, 'then') !== 'function') return settled(answered)
  // The promise of a client is lazy and has methods of its own, so the caller gets that very object.
  quietly(() => void (answered as PromiseLike<unknown>).then(settled, () => undefined))
}

interface Stream {
  [Symbol.asyncIterator]: () => AsyncIterator<unknown>
  /** Of the OpenAI and Anthropic clients: what all ways to read a stream begin with, `tee` too. */
  iterator?: () => AsyncIterator<unknown>
}

const isStream = (answer: unknown): answer is Stream =>
  typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer

/** Records once, when the stream ends or its reader leaves: with the counts that were seen until then. */
function observeStream(stream: Stream, dialect: Dialect, asked: boolean, done: Done): void {
  const open = (stream.iterator ?? stream[Symbol.asyncIterator]).bind(stream)
  let facts: AnswerFacts = {}
  let isDone = false
  const finish = (outcome: Parameters<Done>[1]): void => {
    if (isDone) return
    isDone = true
    done(facts, outcome)
  }
  const see = (part: unknown): void =>
    quietly(() => {
      facts = withFacts(facts, dialect.partFacts(part))
    })
  const observed = (): AsyncIterator<unknown> => {
    const parts = open()
    return {
      async next() {
        for (;;) {
          const result = await parts.next().catch((cause: unknown) => {
            finish('error')
            throw cause
          })
          if (result.done === true) {
            finish('success')
            return result
          }
          see(result.value)
          if (asked && dialect.isUsageOnly?.(result.value) === true) continue
          return result
        }
      },
      async return(value) {
        finish('cancelled')
        return (await parts.return?.(value)) ?? { done: true, value }
      },
      async throw(cause) {
        finish('error')
        if (parts.throw !== undefined) return parts.throw(cause)
        throw cause
      },
    }
  }
  const asIterable = (): AsyncIterator<unknown> & AsyncIterable<unknown> => {
    const iterator = observed()
    return Object.assign(iterator, { [Symbol.asyncIterator]: () => iterator as AsyncIterator<unknown> })
  }
  if (stream.iterator === undefined) stream[Symbol.asyncIterator] = asIterable
  else stream.iterator = asIterable
}

function quietly(task: () => void): void {
  try {
    task()
  } catch {
    // Whatever an unknown client does, its caller gets its answer.
  }
}
