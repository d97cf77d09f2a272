import { join } from 'node:path'
import { ConfigError } from '../../config/settings.js'
import type { Logger } from '../../telemetry/log.js'
import { adoptOrphans } from './orphans.js'
import { openSpool, type Spool } from './spool.js'

const SEGMENT_BYTES = 32 * 1024 * 1024

/**
 * Opens this gateway's own spool and adopts the spools of dead gateways.
 *
 * @throws ConfigError when the gateway's own spool cannot be opened
 */
export async function openSpools(settings: {
  readonly dataDir: string
  readonly spoolBytesMax: number
  readonly gatewayName: string
  readonly log: Logger
}): Promise<{ readonly spool: Spool; readonly orphans: readonly Spool[] }> {
  const { dataDir, spoolBytesMax, log, gatewayName } = settings
  const spoolsDir = join(dataDir, 'spool')
  const spoolSettings = {
    bytesMax: spoolBytesMax,
    segmentBytes: SEGMENT_BYTES,
    onIncident: (incident: object) => log.error({ incident }, 'spool corruption detected'),
  }
  const orphans = await adoptOrphans(spoolsDir, spoolSettings)
  for (const { folder, error } of orphans.failures) {
    log.error({ err: error, folder }, 'the spool of a dead gateway could not be adopted')
  }
  const opened = await openSpool({ ...spoolSettings, folder: join(spoolsDir, gatewayName) })
  if (opened.kind !== 'opened') {
    const reason = opened.kind === 'failed' ? opened.error.message : 'a running process owns it'
    throw new ConfigError(`the spool in ${spoolsDir} cannot be opened: ${reason}`)
  }
  return { spool: opened.spool, orphans: orphans.spools }
}
