/** What a request says of the call that it makes, and the usage that it asks for. Nothing that was said is read. */
import { quietly } from './event.js'

/** A request as it is passed to `fetch`. */
export interface SentRequest {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** Undefined where it is neither a text nor a form. */
  readonly body: string | FormData | undefined
}

export function sentRequest(input: unknown, init: RequestInit | undefined): SentRequest {
  const request = typeof input === 'object' && input !== null && 'url' in input ? (input as Request) : undefined
  return {
    method: (init?.method ?? request?.method ?? 'GET').toUpperCase(),
    url: new URL(request?.url ?? String(input)),
    headers: headersOf(init?.headers ?? request?.headers),
    signal: init?.signal ?? request?.signal ?? undefined,
    body: typeof init?.body === 'string' || init?.body instanceof FormData ? init.body : undefined,
  }
}

/** As they are: to copy them costs more than all else here. */
const headersOf = (headers: RequestInit['headers']): Headers =>
  headers instanceof Headers ? headers : new Headers(headers)

/** What decides on the record of a call, by its request. */
export interface RequestFacts {
  /** Undefined for a request that calls no model. */
  readonly model: string | undefined
  /** Whether it lets a model answer. What only reads or changes an answer is no new call, though it states its usage. */
  readonly isCall: boolean
  /** The body to send instead, so that a streamed chat states its usage; undefined where it needs no change. */
  readonly asking: string | undefined
}

export function factsOfRequest({ method, url, headers, body }: SentRequest): RequestFacts {
  if (method !== 'POST') return { model: undefined, isCall: method !== 'GET', asking: undefined }
  const text = typeof body === 'string' && body.startsWith('{') ? body : ''
  const members = topMembers(text, NAMES)
  const model =
    nameOf(quietly(() => JSON.parse(members.get('model')?.text ?? '') as unknown)) ?? modelElsewhere(url, body)
  const isStreamedChat = members.get('stream')?.text.trim() === 'true' && /\/completions$/.test(url.pathname)
  // OpenRouter has a question of its own, whose answer its caller expects.
  const mayAsk = isStreamedChat && !members.has('usage') && !isFixed(headers)
  const asking = mayAsk ? askingBody(text, members.get('stream_options')) : undefined
  const isCall = model !== undefined || text === '' || topMembers(text, INPUTS).size > 0
  return { model, isCall, asking }
}

/** A signature or a length belongs to the body as it is. */
const isFixed = (headers: Headers): boolean =>
  headers.has('content-length') || headers.get('authorization')?.startsWith('AWS4-') === true

const NAMES: ReadonlySet<string> = new Set(['model', 'stream', 'stream_options', 'usage'])
/** Members of the body of whatever lets a model answer. */
const INPUTS: ReadonlySet<string> = new Set([
  ...['messages', 'input', 'prompt', 'contents', 'query'],
  ...['message', 'texts', 'inputs'],
])
/** Requests to Gemini, Vertex AI, Azure and Bedrock name the model in their path. */
const MODEL_IN_PATH = /\/(?:(?:models|deployments)\/([^/:]+)|model\/([^/]+))/

function modelElsewhere(url: URL, body: SentRequest['body']): string | undefined {
  if (body instanceof FormData) return nameOf(body.get('model'))
  const [, ...names] = MODEL_IN_PATH.exec(url.pathname) ?? []
  const name = names.find((each) => each !== undefined)
  return name === undefined ? undefined : nameOf(quietly(() => decodeURIComponent(name)))
}

const nameOf = (name: unknown): string | undefined => (typeof name === 'string' && name !== '' ? name : undefined)

/** A streamed chat states its usage only when asked, in a last chunk without choices. */
function askingBody(body: string, options: Member | undefined): string | undefined {
  if (options === undefined) return `{"stream_options":{"include_usage":true},${body.slice(1)}`
  const stated = quietly(() => JSON.parse(options.text) as unknown)
  if (typeof stated !== 'object' || stated === null || 'include_usage' in stated) return undefined
  const asking = JSON.stringify({ ...stated, include_usage: true })
  return `${body.slice(0, options.at)}${asking}${body.slice(options.at + options.text.length)}`
}

interface Member {
  readonly text: string
  readonly at: number
}

/** Some members of a JSON object. All others are stepped over, texts by `indexOf`. */
function topMembers(text: string, names: ReadonlySet<string>): ReadonlyMap<string, Member> {
  const found = new Map<string, Member>()
  let depth = 0
  let key = ''
  let valueFrom = -1
  const end = (at: number): void => {
    if (valueFrom >= 0 && names.has(key)) found.set(key, { text: text.slice(valueFrom, at), at: valueFrom })
    valueFrom = -1
  }
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      const close = endOfText(text, at + 1)
      if (depth === 1 && valueFrom < 0) key = close - at > KEY_LENGTH_MAX ? '' : text.slice(at + 1, close)
      at = close
    } else if (code === 0x7b || code === 0x5b) depth++
    else if (code === 0x7d || code === 0x5d) {
      if (--depth === 0) end(at)
    } else if (depth === 1 && code === 0x3a) valueFrom = at + 1
    else if (depth === 1 && code === 0x2c) end(at)
  }
  return found
}
const KEY_LENGTH_MAX = 20

/** @returns the place of the quote that ends a text */
function endOfText(text: string, start: number): number {
  for (let at = start; ; ) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return text.length
    let backslashes = 0
    while (quote - 1 - backslashes >= start && text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++
    if (backslashes % 2 === 0) return quote
    at = quote + 1
  }
}
