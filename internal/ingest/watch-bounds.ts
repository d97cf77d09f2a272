import type { KV } from '@nats-io/kv'
import { INVOCATIONS } from '../../streams/invocations.js'
import type { Broker } from '../broker/connect.js'
import { lastSequenceOf } from '../broker/log.js'
import { type LogBound, logBound } from '../broker/unprocessed.js'
import { notifySupervisor } from '../process/notice.js'
import { WARNING_FROM, watchBound } from '../telemetry/bounds.js'
import type { Logger } from '../telemetry/log.js'
import type { TenantShares } from './admission/tenant-shares.js'
import type { Spool } from './spool/spool.js'

export interface IngestBoundsDeps {
  readonly broker: Broker
  readonly checkpoints: KV
  readonly partitions: number
  readonly spool: Pick<Spool, 'bytes'>
  readonly spoolBytesMax: number
  readonly tenantShares: Pick<TenantShares, 'largest'>
  /** Called for the tenants that cause a backlog, as long as there is one. */
  readonly onBacklog: (tenantId: string) => void
  readonly log: Logger
}

/** Each look at the log makes some consumers. */
const LOG_EVERY_MS = 10_000
/** A number of this process; a spool can be full within seconds. */
const SPOOL_EVERY_MS = 1_000

/**
 * Follows how full the log and the spool are. Here, since a gateway is what fills them: when attributors are missing,
 * they cannot say so.
 */
export function watchIngestBounds(deps: IngestBoundsDeps, signal: AbortSignal): void {
  const { spool, spoolBytesMax, log } = deps
  const shared = { notify: notifySupervisor, log }
  const logUsed = logUse(deps)
  void watchBound({ ...shared, bound: 'log', used: logUsed, everyMs: LOG_EVERY_MS }, signal)
  const spoolUsed = (): number => spool.bytes / spoolBytesMax
  void watchBound({ ...shared, bound: 'spool', used: spoolUsed, everyMs: SPOOL_EVERY_MS }, signal)
}

/** Reads the share of the log that is in use, and passes on who causes it when it is large. */
function logUse({ broker, checkpoints, partitions, tenantShares, onBacklog }: IngestBoundsDeps): () => Promise<number> {
  let last: LogBound | undefined
  return async () => {
    // An idle instance is asked for one number.
    const isIdle =
      last?.unprocessedBytes === 0 && last.lastSequence === (await lastSequenceOf(broker.manager, INVOCATIONS.name))
    if (!isIdle) last = await logBound(broker.manager, checkpoints, partitions)
    const share = last?.share ?? 0
    if (share >= WARNING_FROM) for (const tenantId of tenantShares.largest()) onBacklog(tenantId)
    return share
  }
}
