/** Spools in separate folders, and a disk that fails on demand. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import { localFiles, type SpoolFile, type SpoolFiles } from '../../internal/ingest/spool/files.js'
import type { SpoolIncident } from '../../internal/ingest/spool/incident.js'
import { type Deliver, oneByOne, openSpool, type Spool, type SpoolSettings } from '../../internal/ingest/spool/spool.js'
import { numberOf } from './spool-records.js'

const opened: Spool[] = []
const folders: string[] = []

afterEach(async () => {
  for (const spool of opened.splice(0)) await spool.close().catch(() => undefined)
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'spool-'))
  folders.push(folder)
  return folder
}

export interface OpenedSpool {
  readonly spool: Spool
  readonly incidents: readonly SpoolIncident[]
}

/** Opens a spool with high limits, except those that the test states. Closed at the end of the test. */
export async function open(folder: string, stated: Partial<SpoolSettings> = {}): Promise<OpenedSpool> {
  const incidents: SpoolIncident[] = []
  const result = await openSpool({
    folder,
    bytesMax: 1024 ** 3,
    segmentBytes: 16 * 1024 * 1024,
    onIncident: (incident) => incidents.push(incident),
    ...stated,
  })
  if (result.kind !== 'opened') throw new Error(`the spool is ${JSON.stringify(result)}`)
  opened.push(result.spool)
  return { spool: result.spool, incidents }
}

/** Drains at most `countMax` records. @returns their numbers. Throws when one was altered. */
export async function drained(spool: Spool, countMax = Number.POSITIVE_INFINITY): Promise<number[]> {
  const numbers: number[] = []
  await spool.drain(
    oneByOne(async (record) => {
      if (numbers.length >= countMax) return false
      numbers.push(numberOf(record))
      return true
    }),
  )
  return numbers
}

export const takeAll: Deliver = async (records) => records.length

export const upTo = (count: number, from = 0): number[] => Array.from({ length: count }, (_, i) => from + i)

/** A system error with this code. */
export const systemError = (code: string): Error => Object.assign(new Error(`${code}: injected`), { code })

/** The injected faults of a test; each is called before the real operation, and throws to make it fail. */
export interface Faults {
  write?: (path: string, bytes: Uint8Array) => void
  datasync?: (path: string) => void
  truncate?: (path: string) => void
  create?: (path: string) => void
  read?: (path: string) => void
  remove?: (path: string) => void
}

/** The local disk with faults. A failing write leaves half of its bytes, as on a full disk. */
export function faultyFiles(faults: Faults): SpoolFiles {
  const wrap = (path: string, file: SpoolFile): SpoolFile => ({
    async write(bytes, position) {
      try {
        faults.write?.(path, bytes)
      } catch (cause) {
        await file.write(bytes.subarray(0, bytes.length >> 1), position)
        throw cause
      }
      // A short write, as the system may do at any time.
      return file.write(bytes.subarray(0, Math.max(1, bytes.length - 3)), position)
    },
    async read(into, position) {
      faults.read?.(path)
      return file.read(into.subarray(0, Math.max(1, into.length - 3)), position)
    },
    async datasync() {
      faults.datasync?.(path)
      await file.datasync()
    },
    async truncate(bytes) {
      faults.truncate?.(path)
      await file.truncate(bytes)
    },
    close: () => file.close(),
  })
  return {
    ...localFiles,
    async create(path) {
      faults.create?.(path)
      return wrap(path, await localFiles.create(path))
    },
    open: async (path) => wrap(path, await localFiles.open(path)),
    async remove(path) {
      faults.remove?.(path)
      await localFiles.remove(path)
    },
  }
}
