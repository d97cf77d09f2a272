import { agentLog } from './agent-calls.js'
import { envoyLog } from './envoy-log.js'
import { inferenceDetails } from './inference-details.js'
import type { LogMapper, MappedRecord } from './mapped-record.js'
import type { MappingContext } from './span-events.js'
import type { Telemetry } from './telemetry.js'

/** The first that knows a record says what it is. */
const MAPPERS: readonly LogMapper[] = [agentLog, envoyLog, inferenceDetails]

export function mapLogRecord(record: Telemetry, context: MappingContext): MappedRecord {
  for (const mapper of MAPPERS) {
    const mapped = mapper(record, context)
    if (mapped !== undefined) return mapped
  }
  return UNRELATED
}

const UNRELATED: MappedRecord = { kind: 'passed_over', reason: 'unrelated' }
