import type { Scope } from './context.js'
import { type Fetch, quietly } from './event.js'
import type { ObservedCall } from './observed-call.js'
import { observeResponse } from './observed-response.js'
import { factsOfRequest, type RequestFacts, type SentRequest, sentRequest } from './request.js'

export interface Observer {
  /** Who and what causes the calls, as it was stated for this client. */
  readonly scope: Scope
  /** @returns undefined for a request that is not observed */
  readonly begin: (request: SentRequest, facts: RequestFacts) => ObservedCall | undefined
  /** Whether streamed chats are asked for their usage. */
  readonly asksForUsage: boolean
}

const observed = new WeakMap<Fetch, { readonly original: Fetch; readonly scope: Scope }>()
/** @returns undefined for a `fetch` that is not observed */
export const observationOf = (fetch: Fetch) => observed.get(fetch)

/** Hosts that refuse a request which asks for the usage of a stream. */
const refusing = new Set<string>()

/**
 * The same `fetch`, whose answers are observed while they are read. Clients of providers make all their calls with it,
 * so that their methods, promises, streams and errors stay as they are.
 */
export function observedFetch(original: Fetch, observer: Observer): Fetch {
  // Methods of clients that act as their `fetch` take further arguments.
  const fetching = async function (this: unknown, ...args: Parameters<Fetch>): Promise<Response> {
    const [input, init, ...more] = args
    const request = quietly(() => sentRequest(input, init))
    const facts = request === undefined ? undefined : quietly(() => factsOfRequest(request))
    if (request === undefined || facts === undefined) return original.apply(this, args)
    const call = quietly(() => observer.begin(request, facts))
    if (call === undefined) return original.apply(this, args)

    const isAsking = observer.asksForUsage && facts.asking !== undefined && !refusing.has(request.url.host)
    try {
      const response = await original.call(
        this,
        input,
        isAsking ? { ...init, body: facts.asking as string } : init,
        ...more,
      )
      if (!isAsking || !(await isRefusal(response))) return seen(response, call, isAsking)
      refusing.add(request.url.host)
      // That of `node-fetch` has no such method.
      quietly(() => response.body?.cancel?.()?.catch(() => undefined))
      return seen(await original.apply(this, args), call, false)
    } catch (cause) {
      call.fail(cause)
      throw cause
    }
  }
  observed.set(fetching, { original, scope: observer.scope })
  return fetching
}

function seen(response: Response, call: ObservedCall, isAsked: boolean): Response {
  const isSeen = response.ok && quietly(() => observeResponse(response, call, isAsked)) !== undefined
  if (!isSeen) call.drop()
  return response
}

/** Whether a provider refuses what its caller did not ask for. */
async function isRefusal(response: Response): Promise<boolean> {
  if (response.status !== 400 && response.status !== 422) return false
  return /stream_options|include_usage/.test(await response.clone().text())
}
