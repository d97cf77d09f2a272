import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { framed } from '../../internal/ingest/grpc/unary-message.js'
import { bytesField, varintField } from '../../internal/ingest/otlp/otlp-answers.js'
import type { Target } from './attacks.js'
import { fromElsewhere } from './held-connections.js'

const CONNECTIONS = 16
/** As many as the service lets one connection have. */
const CALLS_PER_CONNECTION = 32
const SPANS = 20
const HALF = 50

/** 512 calls of 20 spans that begin at once, on new connections; done when each has ended. */
export async function callGrpc({ grpcPort, secret }: Target, isWhole: boolean): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: CONNECTIONS }, () => connected(grpcPort)))
  const head = { ':method': 'POST', ':path': EXPORT, 'content-type': 'application/grpc', 'x-api-key': secret }
  const calls = sessions.flatMap((session) =>
    Array.from({ length: CALLS_PER_CONNECTION }, () =>
      session
        .request(head)
        .on('error', () => undefined)
        .resume(),
    ),
  )
  for (const call of calls) {
    if (isWhole) call.end(framed(spans()))
    else call.write(framed(spans()).subarray(0, HALF))
  }
  await Promise.all(calls.map((call) => call.closed || once(call, 'close')))
  for (const session of sessions) session.destroy()
}

const EXPORT = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'

async function connected(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`, { createConnection: () => fromElsewhere(port) })
  session.on('error', () => undefined)
  await once(session, 'remoteSettings')
  return session
}

/** An `ExportTraceServiceRequest` of calls that are new each time. */
function spans(): Buffer {
  const now = Buffer.alloc(8)
  now.writeBigUInt64LE(BigInt(Date.now()) * 1_000_000n)
  const traceId = randomBytes(16)
  const one = (): Buffer =>
    bytesField(
      2,
      Buffer.concat([
        bytesField(1, traceId),
        bytesField(2, randomBytes(8)),
        bytesField(5, 'chat gpt-4o'),
        Buffer.from([START_TIME]),
        now,
        ...ATTRIBUTES,
      ]),
    )
  return bytesField(1, bytesField(2, Buffer.concat(Array.from({ length: SPANS }, one))))
}

/** Field 7, of eight bytes. */
const START_TIME = (7 << 3) | 1
const attribute = (key: string, value: Buffer): Buffer =>
  bytesField(9, Buffer.concat([bytesField(1, key), bytesField(2, value)]))
const ATTRIBUTES = [
  attribute('gen_ai.operation.name', bytesField(1, 'chat')),
  attribute('gen_ai.provider.name', bytesField(1, 'openai')),
  attribute('gen_ai.request.model', bytesField(1, 'gpt-4o')),
  attribute('gen_ai.usage.input_tokens', varintField(3, 12)),
  attribute('gen_ai.usage.output_tokens', varintField(3, 3)),
]
