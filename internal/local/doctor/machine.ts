import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { SEGMENT_SUFFIX } from '../../ingest/spool/segment.js'
import { type Finding, failure, graded, ok, warning } from './finding.js'

/** Used share of the disk. */
const DISK = { warningFrom: 0.75, failureFrom: 0.9 }
/** A gateway needs one per connection, the engine some thousand. */
const OPEN_FILES_MIN = 4_096
/** Files of the data folder that hold secrets. */
const SECRET_FILES = ['master.key', 'credentials.json', 'secrets.json', 'environment.json']

/** This machine: disk and permissions of the data folder, the limit of open files. */
export function* checkMachine(dataDir: string | undefined): Generator<Finding> {
  if (dataDir !== undefined) {
    yield checkDisk(dataDir)
    yield checkPermissions(dataDir)
    yield checkSpool(dataDir)
  }
  yield* checkOpenFiles()
}

function checkDisk(dataDir: string): Finding {
  const { blocks, bavail, bsize } = statfsSync(dataDir)
  const used = 1 - bavail / blocks
  const seen = `${Math.round(used * 100)} % used, ${Math.round((bavail * bsize) / 2 ** 30)} GiB free`
  return graded('disk', used, DISK, seen, 'free some, or move the data folder to a larger disk')
}

/** What gateways here accepted while the log did not answer; segments are removed once they are delivered. */
function checkSpool(dataDir: string): Finding {
  const folder = join(dataDir, 'spool')
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const segments = names
    .filter((name) => name.endsWith(SEGMENT_SUFFIX))
    .flatMap((name) => statOf(join(folder, name)) ?? [])
  const bytes = segments.reduce((sum, { size }) => sum + size, 0)
  if (bytes === 0) return ok('spool', 'no event waits on this disk')
  const oldest = new Date(Math.min(...segments.map(({ birthtimeMs }) => birthtimeMs))).toISOString()
  return warning(
    'spool',
    `${(bytes / 2 ** 20).toFixed(1)} MiB of accepted events wait on this disk, the first since ${oldest}: they ` +
      'go to the log once the broker answers and a gateway runs here; keep this disk until then',
  )
}

const statOf = (path: string) => statSync(path, { throwIfNoEntry: false })

function checkPermissions(dataDir: string): Finding {
  const present = new Set(readdirSync(dataDir))
  const open = SECRET_FILES.filter((name) => present.has(name) && (statSync(join(dataDir, name)).mode & 0o077) !== 0)
  if (open.length > 0) {
    return failure(
      'permissions',
      `others on this machine may read ${open.join(', ')}: \`chmod 600\`, then replace these secrets`,
    )
  }
  const { uid } = statSync(dataDir)
  const self = process.getuid?.() ?? uid
  return uid === self || self === 0
    ? ok('permissions', 'secrets are readable by their owner only')
    : warning('permissions', `the data folder belongs to user ${uid}, this command runs as ${self}`)
}

/** Where the system says it (Linux). */
function* checkOpenFiles(): Generator<Finding> {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return
  }
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  // `unlimited` is no number.
  if (soft === undefined) return
  yield Number(soft) < OPEN_FILES_MIN
    ? warning(
        'open files',
        `at most ${soft} per process that starts from here: raise it to ${OPEN_FILES_MIN} (\`ulimit -n\`)`,
      )
    : ok('open files', `at most ${soft} per process`)
}
