/** Clients of AWS's SDK: they send without `fetch`, and take a middleware that sees each request and its answer. */
import { AnswerScanner, statedIn } from './answer-scanner.js'
import { member, quietly } from './event.js'
import type { ObservedCall } from './observed-call.js'
import { factsOfRequest, type RequestFacts, type SentRequest } from './request.js'

interface HttpRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}
interface Result {
  readonly response: { readonly headers: Readonly<Record<string, string>> }
  readonly output: object
}
type Next = (given: { readonly request: HttpRequest }) => Promise<Result>

export interface MiddlewareStack {
  add(middleware: (next: Next) => Next, options: object): void
}

type Begin = (request: SentRequest, facts: RequestFacts) => ObservedCall | undefined

/** Records the calls that name a model: Bedrock's. Each attempt is one; the last `wrap` sets their context. */
export function wrapAws(stack: MiddlewareStack, begin: Begin): void {
  const observe =
    (next: Next): Next =>
    async (given) => {
      const call = quietly(() => begun(given.request, begin))
      if (call === undefined) return next(given)
      try {
        const result = await next(given)
        if (quietly(() => observeResult(result, call)) === undefined) call.drop()
        return result
      } catch (cause) {
        // What the provider refused costs nothing.
        if (member(member(cause, '$metadata'), 'httpStatusCode') === undefined) call.fail(cause)
        else call.drop()
        throw cause
      }
    }
  stack.add(observe, { step: 'deserialize', priority: 'high', name: 'attribution', override: true })
}

function begun({ method, protocol, hostname, path, headers }: HttpRequest, begin: Begin): ObservedCall | undefined {
  const url = new URL(path, `${protocol}//${hostname}`)
  const request = { method, url, headers: new Headers(headers), signal: undefined, body: undefined }
  const facts = factsOfRequest(request)
  return facts.model === undefined ? undefined : begin(request, facts)
}

/** @returns undefined for an answer without a form */
function observeResult({ response, output }: Result, call: ObservedCall): ObservedCall {
  const parts = member(output, 'stream') ?? member(output, 'body')
  const isStreamed = typeof member(parts, Symbol.asyncIterator as never) === 'function'
  call.answered(new Headers(response.headers), isStreamed)
  const scanner = new AnswerScanner((stated) => call.see(stated))
  if (isStreamed) {
    call.watch(parts as object)
    observeParts(parts as AsyncIterable<unknown>, call, (part) => {
      for (const stated of statedIn(member(part, 'metadata'))) call.see(stated)
      const bytes = member(member(part, 'chunk'), 'bytes')
      if (bytes instanceof Uint8Array) scanner.push(bytes)
    })
    return call
  }
  // Of a model's own form, else of Converse.
  if (parts instanceof Uint8Array) scanner.push(parts)
  else call.seeParsed(statedIn(output))
  call.end('success')
  return call
}

function observeParts(parts: AsyncIterable<unknown>, call: ObservedCall, see: (part: unknown) => void): void {
  const iterate = parts[Symbol.asyncIterator].bind(parts)
  Object.defineProperty(parts, Symbol.asyncIterator, {
    configurable: true,
    async *value() {
      let isDone = false
      try {
        for await (const part of { [Symbol.asyncIterator]: iterate }) {
          quietly(() => see(part))
          yield part
        }
        isDone = true
      } catch (cause) {
        call.fail(cause)
        throw cause
      } finally {
        if (isDone) call.end('success')
        else call.abandon()
      }
    },
  })
}
