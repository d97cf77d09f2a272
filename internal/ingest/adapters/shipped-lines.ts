import { InText, type Selected } from '../../text/select-json.js'
import type { JsonSource } from '../intake/json-source.js'
import { objectOf } from './fields.js'

/**
 * Where collectors of logs put the text of a line: Vector, Filebeat and Logstash in `message`, Fluent Bit and Docker in
 * `log`, Promtail and Alloy in `line`.
 */
const LINES = ['message', 'log', 'line'] as const

/** The source, also where each of its payloads is a line within what a collector of logs sends. */
export function withShippedLines({ name, wanted, map }: JsonSource): JsonSource {
  const line = new InText(wanted)
  return {
    name,
    wanted: { ...wanted, ...Object.fromEntries(LINES.map((member) => [member, line])) },
    map: (payload, request) => map(lineOf(payload), request),
  }
}

/** What a collector adds beside the line is read as well, unless the line says it. */
function lineOf(payload: Selected): Selected {
  for (const member of LINES) {
    const line = objectOf(payload[member])
    if (Object.keys(line).length > 0) return { ...payload, ...line }
  }
  return payload
}
