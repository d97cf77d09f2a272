import { type CallContext, member, textIn } from './event.js'

/** Who and what causes calls, in the words of an application. */
export interface Scope extends CallContext {
  readonly service?: string | undefined
  readonly identity?: string | undefined
  /** The conversation or task: the tag `session_id`. */
  readonly session?: string | undefined
  /** Keeps a serverless function alive until its calls are sent. */
  readonly waitUntil?: ((sent: Promise<void>) => void) | undefined
}

/** With what the library knows itself. */
interface RunningScope extends Scope {
  /** The call is observed by the caller of `fetch`. */
  readonly isObserved?: boolean
}

export const withScope = (outer: Scope, inner: Scope): Scope => ({
  ...outer,
  ...stated(inner),
  ...((outer.tags != null || inner.tags != null) && { tags: { ...outer.tags, ...inner.tags } }),
})

/** The fields of an event that a scope states. */
export function fieldsOf({ service, identity, session, waitUntil, ...fields }: Scope): CallContext {
  const { attributed_service = service, attributed_identity = identity, tags } = fields
  const ofSession: Readonly<Record<string, string>> = session === undefined ? {} : { session_id: session }
  const isTagged = tags != null || session !== undefined
  return stated({
    ...fields,
    attributed_service,
    attributed_identity,
    ...(isTagged && { tags: { ...tags, ...ofSession } }),
  })
}

/** Without what is undefined. */
function stated<T extends object>(fields: T): T {
  const found: Partial<T> = {}
  for (const name in fields) if (fields[name] !== undefined) found[name] = fields[name]
  return found as T
}

interface Storage<T> {
  run<R>(store: T, callback: () => R): R
  getStore(): T | undefined
}

/** Node's class, also where it is no module but a global: on the edge. */
function storageClass(): (new <T>() => Storage<T>) | undefined {
  const ofPlatform = member(globalThis, 'AsyncLocalStorage')
  if (typeof ofPlatform === 'function') return ofPlatform as new <T>() => Storage<T>
  return builtin('node:async_hooks')?.['AsyncLocalStorage'] as (new <T>() => Storage<T>) | undefined
}

/** A module of Node; undefined elsewhere. An import would fail where there is none. */
export function builtin(name: string): Readonly<Record<string, unknown>> | undefined {
  const found = (member(globalThis, 'process') as { getBuiltinModule?: (name: string) => object } | undefined)
    ?.getBuiltinModule
  return found?.(name) as Readonly<Record<string, unknown>> | undefined
}

/** Without a platform's own, what is run is in scope only until it first waits. */
class SynchronousStorage<T> implements Storage<T> {
  private store: T | undefined

  run<R>(store: T, callback: () => R): R {
    const before = this.store
    this.store = store
    try {
      return callback()
    } finally {
      this.store = before
    }
  }

  getStore(): T | undefined {
    return this.store
  }
}

/** One for the whole process: two copies of the library share it. */
const KEY = Symbol.for('attribution-service.scope')
const shared = globalThis as unknown as Record<symbol, Storage<RunningScope> | undefined>
shared[KEY] ??= new (storageClass() ?? SynchronousStorage)<RunningScope>()
const storage = shared[KEY]

/** What `runIn` was called with, around the caller; undefined outside. */
export function currentScope(): Scope | undefined {
  const found = storage.getStore()
  if (found === undefined) return undefined
  const { isObserved: _, ...scope } = found
  return scope
}

const running = (): RunningScope => storage.getStore() ?? {}

export const isObserved = (): boolean => running().isObserved === true

/** What is called is not observed again on its way. */
export const runObserved = <R>(callback: () => R): R => storage.run({ ...running(), isObserved: true }, callback)

export const runIn = <R>(scope: Scope, callback: () => R): R => storage.run(withScope(running(), scope), callback)

/**
 * The active span, by the API that all copies of OpenTelemetry share, else by the `traceparent` of the request. The call
 * is made by this span.
 */
export function currentTrace(traceparent: string | undefined): CallContext {
  const api = (globalThis as unknown as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')]
  const manager = member(api, 'context') as { active?: () => { getValue?: (key: symbol) => unknown } } | undefined
  const span = manager?.active?.().getValue?.(SPAN) as { spanContext?: () => object } | undefined
  const context = span?.spanContext?.()
  const traceId = textIn(context, 'traceId')
  if (traceId !== undefined && !/^0*$/.test(traceId))
    return { trace_id: traceId, parent_span_id: textIn(context, 'spanId') }
  const [, trace, parent] = TRACEPARENT.exec(traceparent ?? '') ?? []
  return trace === undefined ? {} : { trace_id: trace, parent_span_id: parent }
}

const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}/
