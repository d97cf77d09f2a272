import { existsSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureNatsServer } from '../../../deploy/setup/nats-server.mjs'
import { PARSER_ENVIRONMENT } from '../../../internal/http/builds.js'
import { ROOT } from '../docs.js'
import { holdSharedProcesses } from './shared-processes.js'

/** A folder in memory: a run writes and deletes many thousand small files; a disk takes seconds per instance. */
const IN_MEMORY = '/dev/shm'
/** NATS reserves 16 GiB for the streams of an instance, of three quarters of the free space. A run holds a tenth. */
const SPACE_BYTES_MIN = 22 * 1024 ** 3
const MEMORY_BYTES_MIN = 8 * 1024 ** 3

function hasRoomInMemory(): boolean {
  if (!existsSync(IN_MEMORY) || freemem() < MEMORY_BYTES_MIN) return false
  const { bavail, bsize } = statfsSync(IN_MEMORY)
  const mounted = readFileSync('/proc/mounts', 'utf8').split('\n')
  // Containers forbid programs there.
  const isForPrograms = mounted.some((line) => line.includes(` ${IN_MEMORY} tmpfs `) && !line.includes('noexec'))
  return isForPrograms && bavail * bsize >= SPACE_BYTES_MIN
}

/**
 * Global set-up: temporary files of the tests and of their processes go into one folder, removed when the run ends.
 * Workers inherit the environment.
 */
export default async function runFolder(): Promise<() => Promise<void>> {
  const parent = process.env['TMPDIR'] === undefined && hasRoomInMemory() ? IN_MEMORY : tmpdir()
  const folder = mkdtempSync(join(parent, 'attribution-tests-'))
  process.env['TMPDIR'] = folder
  Object.assign(process.env, PARSER_ENVIRONMENT)
  // `npm test` has found it. Without it, the tests that need it say so.
  const natsServer = process.env['ATTRIBUTION_NATS_SERVER_BIN'] ?? (await ensureNatsServer(ROOT).catch(() => undefined))
  if (natsServer !== undefined) process.env['ATTRIBUTION_NATS_SERVER_BIN'] = natsServer
  const endSharedProcesses = holdSharedProcesses(folder)
  return async () => {
    await endSharedProcesses()
    // A process that has just received its signal may still write. Asynchronous, since vitest waits for its workers.
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}
