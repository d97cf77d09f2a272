import { MalformedRequest } from '../otlp/malformed.js'
import { varintField } from '../otlp/otlp-answers.js'
import { BYTES, ProtobufReader } from '../otlp/protobuf-reader.js'
import { SERVICE_NAMES } from './grpc-answers.js'

/** Of `grpc.health.v1`. Its `Watch` is not there: balancers then take a server for healthy that accepts connections. */
const HEALTH = 'grpc.health.v1.Health'
export const HEALTH_CHECK = `/${HEALTH}/Check`

const SERVING = 1
const NOT_SERVING = 2

/** @returns a `HealthCheckResponse`; undefined for a service that is not here; `malformed` for another message */
export function healthOf(request: Buffer, isServing: boolean): Buffer | 'malformed' | undefined {
  const service = serviceIn(request)
  if (service === undefined) return 'malformed'
  if (service !== '' && service !== HEALTH && !SERVICE_NAMES.includes(service)) return undefined
  return varintField(1, isServing ? SERVING : NOT_SERVING)
}

/** The first field of a `HealthCheckRequest`. */
function serviceIn(request: Buffer): string | undefined {
  const reader = new ProtobufReader(request)
  let service = ''
  try {
    while (reader.next(request.length)) {
      if (reader.field === 1 && reader.wireType === BYTES) {
        const end = reader.enter(request.length)
        service = request.toString('utf8', reader.at, end)
        reader.at = end
      } else reader.skip(request.length)
    }
  } catch (cause) {
    if (cause instanceof MalformedRequest) return undefined
    throw cause
  }
  return service
}
