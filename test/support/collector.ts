/** A collector of spans: a real HTTP receiver that decodes OTLP with the public definitions. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeOtlp } from './otlp.js'
import { atEnd } from './run/at-end.js'

/** A span as it arrived; ids are hexadecimal. */
export interface CollectedSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Empty: none. */
  readonly parentSpanId: string
  /** `traceId-spanId` */
  readonly links: readonly string[]
  readonly droppedLinks: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly resource: Readonly<Record<string, unknown>>
  readonly scope: string
  readonly isError: boolean
  readonly ms: number
}

export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  readonly requests: readonly { readonly headers: Readonly<Record<string, unknown>>; readonly body: Buffer }[]
  /** Its answer to what comes next; 200 at first. */
  status: number
  /** Called with each body before it is answered. */
  forward: (body: Buffer) => Promise<unknown>
  /** Resolves with the matching spans once there are so many. */
  until(count: number, matches: (span: CollectedSpan) => boolean): Promise<readonly CollectedSpan[]>
  close(): Promise<void>
}

/** @param port a free one unless it is given */
export async function launchCollector(port = 0): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const requests: { headers: IncomingMessage['headers']; body: Buffer }[] = []
  const looks = new Set<() => void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    requests.push({ headers: request.headers, body })
    const { status } = collector
    if (status === 200) {
      await collector.forward(body)
      spans.push(...spansIn(body))
    }
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end()
    for (const look of looks) look()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    requests,
    status: 200,
    forward: async () => undefined,
    until: (count, matches) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = spans.filter(matches)
          if (found.length < count) return
          looks.delete(look)
          resolve(found)
        }
        looks.add(look)
        look()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  atEnd(collector.close)
  return collector
}

const hex = (bytes: Buffer | undefined): string => Buffer.from(bytes ?? []).toString('hex')

// biome-ignore lint/suspicious/noExplicitAny: the shape is the message's
const attributesOf = (pairs: readonly any[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map(({ key, value }) => {
      const kind = value.value as string
      return [key, kind === 'intValue' ? Number(value[kind]) : value[kind]]
    }),
  )

function spansIn(body: Buffer): CollectedSpan[] {
  const found: CollectedSpan[] = []
  for (const { resource, scopeSpans } of decodeOtlp('ExportTraceServiceRequest', body).resourceSpans) {
    for (const { scope, spans } of scopeSpans) {
      for (const span of spans) {
        found.push({
          name: span.name,
          kind: span.kind,
          traceId: hex(span.traceId),
          spanId: hex(span.spanId),
          parentSpanId: hex(span.parentSpanId),
          // biome-ignore lint/suspicious/noExplicitAny: the shape is the message's
          links: span.links.map((link: any) => `${hex(link.traceId)}-${hex(link.spanId)}`),
          droppedLinks: span.droppedLinksCount ?? 0,
          attributes: attributesOf(span.attributes),
          resource: attributesOf(resource.attributes),
          scope: scope.name,
          isError: span.status?.code === 2,
          ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
        })
      }
    }
  }
  return found
}
