import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ConfigError } from '../../config/settings.js'
import type { Logger } from '../../telemetry/log.js'
import { gauge, whenRead } from '../../telemetry/metrics.js'
import { asError } from './incident.js'
import { openSpool, type Spool, type SpoolSettings } from './spool.js'

const SPOOL_BYTES = gauge(
  'spool_bytes',
  'Bytes that wait on this disk while the log does not answer, also those that dead gateways have left.',
)
const SPOOL_RECORDS = gauge('spool_records', 'Messages among them.')

const SEGMENT_BYTES = 32 * 1024 * 1024
/** Share of the spool's limit that keys may use besides: an event is ten times as large as its key. */
const KEYS_SHARE = 1 / 8

export interface Spools {
  readonly spool: Spool
  /** For keys that KEYS does not take while the log takes their events. */
  readonly keySpool: Spool
  /** Both of dead gateways. */
  readonly orphans: readonly Spool[]
}

/**
 * Opens this gateway's own spools and adopts those of dead gateways.
 *
 * @throws ConfigError when the gateway's own spools cannot be opened
 */
export async function openSpools(settings: {
  readonly dataDir: string
  readonly spoolBytesMax: number
  readonly gatewayName: string
  readonly log: Logger
}): Promise<Spools> {
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
  const openOwn = async (name: string, bytesMax: number): Promise<Spool> => {
    const opened = await openSpool({ ...spoolSettings, bytesMax, folder: join(spoolsDir, name) })
    if (opened.kind === 'opened') return opened.spool
    const reason = opened.kind === 'failed' ? opened.error.message : 'a running process owns it'
    throw new ConfigError(`the spool in ${spoolsDir} cannot be opened: ${reason}`)
  }
  const spool = await openOwn(gatewayName, spoolBytesMax)
  const keySpool = await openOwn(`${gatewayName}.keys`, spoolBytesMax * KEYS_SHARE)
  const all = [spool, keySpool, ...orphans.spools]
  whenRead(() => {
    SPOOL_BYTES.set(all.reduce((sum, { bytes }) => sum + bytes, 0))
    SPOOL_RECORDS.set(all.reduce((sum, { count }) => sum + count, 0))
  })
  return { spool, keySpool, orphans: orphans.spools }
}

export interface Adopted {
  /** This process owns them now: drain each, then close it, which removes its folder. */
  readonly spools: readonly Spool[]
  /** Folders that nobody living owns and that could not be opened; they are tried again at the next call. */
  readonly failures: readonly { readonly folder: string; readonly error: Error }[]
}

/**
 * Takes over the spools of dead processes: a restarted gateway uses a new folder, and the events that its predecessor
 * accepted must still reach the log. Folders of living processes, this one included, are left alone; if several
 * gateways call at once, each orphan goes to at most one.
 *
 * @param parent the folder that holds one folder per spool, and nothing else
 */
export async function adoptOrphans(parent: string, settings: Omit<SpoolSettings, 'folder'>): Promise<Adopted> {
  const spools: Spool[] = []
  const failures: { folder: string; error: Error }[] = []
  for (const folder of await foldersIn(parent)) {
    const opened = await openSpool({ ...settings, folder })
    if (opened.kind === 'opened') spools.push(opened.spool)
    else if (opened.kind === 'failed') failures.push({ folder, error: asError(opened.error) })
  }
  return { spools, failures }
}

async function foldersIn(parent: string): Promise<string[]> {
  try {
    const entries = await readdir(parent, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return []
    throw cause
  }
}
