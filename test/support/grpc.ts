/** Unary calls of gRPC, by Node's HTTP/2. */
import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { framed } from '../../internal/ingest/grpc/unary-message.js'

export interface GrpcAnswer {
  /** Of HTTP. */
  readonly httpStatus: number | undefined
  readonly code: number
  readonly message: string
  /** A `google.rpc.Status`, if there is one. */
  readonly details: Buffer | undefined
  readonly body: Buffer
}

export const EXPORT = {
  traces: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
  logs: '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  metrics: '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
} as const

export interface GrpcCall {
  readonly metadata?: Readonly<Record<string, string>>
  /** Compressed by what `grpc-encoding` says. */
  readonly isCompressed?: boolean
  /** Instead of one message. */
  readonly raw?: Buffer
}

/** Makes one call on a connection. */
export async function callGrpc(
  session: ClientHttp2Session,
  path: string,
  message: Uint8Array,
  { metadata = {}, isCompressed = false, raw = framed(message) }: GrpcCall = {},
): Promise<GrpcAnswer> {
  const head = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const stream = session.request({ ...head, ...metadata })
  if (isCompressed) raw[0] = 1
  stream.end(raw)
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  let trailers: IncomingHttpHeaders = {}
  stream.once('trailers', (said: IncomingHttpHeaders) => {
    trailers = said
  })
  const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders]
  await once(stream, 'close')
  const said = { ...response, ...trailers }
  const details = said['grpc-status-details-bin']
  return {
    httpStatus: response[':status'] === undefined ? undefined : Number(response[':status']),
    code: Number(said['grpc-status']),
    message: decodeURIComponent(String(said['grpc-message'] ?? '')),
    details: typeof details === 'string' ? Buffer.from(details, 'base64') : undefined,
    body: Buffer.concat(chunks).subarray(5),
  }
}

export const connectGrpc = (port: number): ClientHttp2Session => connect(`http://127.0.0.1:${port}`)
