import type { StreamInfo } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import { AUDIT, AUDIT_CHECKPOINT, AUDIT_OF_ALL } from '../../../streams/audit.js'
import { CHECKPOINTS } from '../../../streams/buckets.js'
import { CHANGES, CHANGES_OF_ALL } from '../../../streams/changes.js'
import { INVOCATIONS } from '../../../streams/invocations.js'
import { OBSERVATIONS, OBSERVATIONS_CHECKPOINT, OBSERVATIONS_OF_ALL } from '../../../streams/observations.js'
import { CHANGES_CHECKPOINT } from '../../../streams/records.js'
import { type Progress, readCheckpoint } from '../../broker/checkpoint.js'
import { type Broker, declaredStreams, discardsOldest, findStream } from '../../broker/connect.js'
import { type Layout, partitionsOf, readLayout } from '../../broker/layout.js'
import { changesTo } from '../../broker/layout-changes.js'
import { type LogLag, lagOf, type ReadLogOf } from '../../broker/log-lag.js'
import { quarantineState } from '../../broker/quarantine-log.js'
import { invocationLogs, logBound } from '../../broker/unprocessed.js'
import { CRITICAL_FROM, WARNING_FROM } from '../../telemetry/bounds.js'
import { type Finding, failure, graded, ok, warning } from './finding.js'

const FILL = { warningFrom: WARNING_FROM, failureFrom: CRITICAL_FROM }
/** Seconds; the alert for late attribution fires at 60. */
const LAG = { warningFrom: 60, failureFrom: 300 }

/** The broker: version, layout, fill of its streams, what waits in the logs, what is in quarantine. */
export async function* checkBroker(broker: Broker, nowMs: number): AsyncGenerator<Finding> {
  const { info } = broker.connection
  yield ok('broker', `nats-server ${info?.version ?? 'of an unknown version'} answers`)
  const found = await readLayout(broker)
  if (found === undefined) {
    yield failure('layout', 'the broker has none: no role has started with it yet. Is this the right broker?')
    return
  }
  yield await checkLayout(broker, found.layout)
  const lags = await lagsOf(broker, found.layout, nowMs)
  yield* await checkFill(broker, found.layout, lags)
  yield checkLags(lags)
  yield await checkQuarantine(broker)
}

async function checkLayout(broker: Broker, layout: Layout): Promise<Finding> {
  const changes = await changesTo(broker, layout)
  if (changes.length === 0) return ok('layout', `partitions: ${partitionsOf(layout)}, replicas: ${layout.replicas}`)
  const named = changes.slice(0, 3).map(({ stream, property, from, to }) => `${stream} ${property} ${from}, not ${to}`)
  const others = changes.length > named.length ? ` and ${changes.length - named.length} more` : ''
  return warning('layout', `differs from the streams (${named.join('; ')}${others}): run \`attribution streams apply\``)
}

/** The logs that attributors read. */
const logsOf = async ({ manager }: Broker, layout: Layout): Promise<readonly ReadLogOf[]> => [
  ...(await invocationLogs(manager, partitionsOf(layout))),
  { key: CHANGES_CHECKPOINT, stream: CHANGES.name, subject: CHANGES_OF_ALL },
  { key: OBSERVATIONS_CHECKPOINT, stream: OBSERVATIONS.name, subject: OBSERVATIONS_OF_ALL },
  { key: AUDIT_CHECKPOINT, stream: AUDIT.name, subject: AUDIT_OF_ALL },
]

type NamedLag = LogLag & Pick<ReadLogOf, 'key' | 'stream'>

async function lagsOf(broker: Broker, layout: Layout, nowMs: number): Promise<NamedLag[]> {
  const checkpoints = await broker.bucket(CHECKPOINTS)
  const lags: NamedLag[] = []
  for (const log of await logsOf(broker, layout)) {
    const done = await doneOf(checkpoints, log.key)
    lags.push({ ...log, ...(await lagOf(broker.manager, log, done, nowMs)) })
  }
  return lags
}

const doneOf = async (checkpoints: KV, key: string): Promise<number> =>
  (await readCheckpoint<Progress>(checkpoints, key))?.done ?? 0

function checkLags(lags: readonly NamedLag[]): Finding {
  const oldest = lags.reduce((a, b) => (b.oldestS > a.oldestS ? b : a))
  const seen =
    oldest.messages === 0
      ? 'nothing waits in the logs'
      : `the oldest message waits for ${oldest.oldestS.toFixed(1)} s, in ${oldest.key}, with ${oldest.messages} in all`
  return graded('lag', oldest.oldestS, LAG, seen, 'start attributors, and look into logs/attributor.log')
}

/**
 * Streams that discard their oldest messages are never too full. Of the log only what waits counts: the rest is purged.
 */
async function checkFill(broker: Broker, layout: Layout, lags: readonly NamedLag[]): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { name } of declaredStreams(layout)) {
    const stream = await findStream(broker, name)
    if (stream === undefined) {
      findings.push(failure(`stream ${name}`, 'does not exist: start a role of this build, which creates it'))
      continue
    }
    const bytesMax = stream.config.max_bytes
    if (discardsOldest(stream) || bytesMax <= 0) continue
    const share = name === INVOCATIONS.name ? await logShare(broker, layout) : usedShare(stream, lags)
    const seen = `${Math.round(share * 100)} % of ${mebibytes(bytesMax)} MiB is in use`
    const finding = graded(
      `stream ${name}`,
      share,
      FILL,
      seen,
      'its readers do not keep up, see `lag`; `attribution streams apply` raises sizes',
    )
    if (finding.status !== 'ok') findings.push(finding)
  }
  return findings.length > 0 ? findings : [ok('streams', 'all exist, none is close to its limit')]
}

/** As gateways measure it, of the part that new calls may fill. */
async function logShare(broker: Broker, layout: Layout): Promise<number> {
  return (await logBound(broker.manager, await broker.bucket(CHECKPOINTS), partitionsOf(layout))).share
}

function usedShare({ config, state }: StreamInfo, lags: readonly NamedLag[]): number {
  const waiting = lags.filter((lag) => lag.stream === config.name)
  const unprocessed = waiting.reduce((sum, lag) => sum + lag.messages, 0)
  const bytes = waiting.length > 0 && state.messages > 0 ? (state.bytes * unprocessed) / state.messages : state.bytes
  return bytes / config.max_bytes
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20)

async function checkQuarantine({ manager }: Broker): Promise<Finding> {
  const { messages } = await quarantineState(manager)
  return messages === 0
    ? ok('quarantine', 'empty')
    : warning(
        'quarantine',
        `${messages} messages: \`attribution quarantine list\` says why, \`replay\` tries them again`,
      )
}
