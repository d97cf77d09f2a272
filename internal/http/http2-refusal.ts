/**
 * The answer to a client that speaks HTTP/2, as all of gRPC do, on a port that does not: SETTINGS, which it waits for,
 * and a GOAWAY whose text it logs (RFC 9113, section 6.8).
 */
const TEXT =
  'This port speaks HTTP/1.1. For OTLP set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf (a Collector: otlphttp), ' +
  'or send to the port for gRPC (--intake-grpc-port).'

const SETTINGS = 0x4
const GOAWAY = 0x7
const HTTP_1_1_REQUIRED = 0xd

function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  return Buffer.concat([head, payload])
}

function goAway(): Buffer {
  // The last stream that was looked at, which is none, and the error.
  const head = Buffer.alloc(8)
  head.writeUInt32BE(HTTP_1_1_REQUIRED, 4)
  return frame(GOAWAY, Buffer.concat([head, Buffer.from(TEXT)]))
}

export const HTTP_1_ONLY: Buffer = Buffer.concat([frame(SETTINGS, Buffer.alloc(0)), goAway()])
