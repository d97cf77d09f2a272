import { hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../config/settings.js'

/** The keys derived from a master key, which itself is not kept. */
export interface MasterKey {
  /** 8 characters derived from the key, which do not reveal it. */
  readonly id: string
  /** 32 bytes, derived from it, as are the others. */
  readonly sealing: Uint8Array
  readonly signingBackups: Uint8Array
}

/**
 * The keys that seal all other secrets. The first one seals, all of them can open, so that a key can be replaced while
 * processes run.
 */
export interface MasterKeys {
  /** The key that currently seals. */
  current(): MasterKey
  /** The key with this id; undefined when there is none, or it has expired. */
  find(id: string): MasterKey | undefined
}

/** One line of the master key file, or one item of the environment variable. */
export interface MasterKeyEntry {
  /** As it was written: 32 bytes as base64url or base64. */
  readonly text: string
  /** When the key expires, milliseconds since the epoch; it then opens nothing. */
  readonly untilMs: number
}

/**
 * Reads the master keys from the configured source: a comma-separated text, or a file with one key per line. Whenever a
 * key is requested, the file is checked, and read again if it has changed.
 *
 * @throws ConfigError with a one-line explanation
 */
export function readMasterKeys(
  { masterKey, masterKeyFile }: { readonly masterKey: string; readonly masterKeyFile: string },
  clock: () => number = Date.now,
): MasterKeys {
  if (masterKey === '' && masterKeyFile === '') {
    throw new ConfigError('no master key: set ATTRIBUTION_MASTER_KEY or --master-key-file')
  }
  if (masterKey !== '') return keysOf(parseMasterKeys(masterKey.replaceAll(',', '\n'), 'ATTRIBUTION_MASTER_KEY'), clock)

  let known = readFile(masterKeyFile)
  let keys = keysOf(known.entries, clock)
  const refreshed = (): MasterKeys => {
    if (versionOf(masterKeyFile) === known.version) return keys
    try {
      known = readFile(masterKeyFile)
      keys = keysOf(known.entries, clock)
    } catch (cause) {
      // While the file is missing or invalid, the keys that were read last remain valid.
      if (!(cause instanceof ConfigError)) throw cause
    }
    return keys
  }
  return { current: () => refreshed().current(), find: (id) => refreshed().find(id) }
}

/**
 * Parses a text with one entry per line: a key, followed by `until` and an RFC 3339 time if it was replaced.
 *
 * @param source names the text in the error
 * @throws ConfigError
 */
export function parseMasterKeys(text: string, source: string): MasterKeyEntry[] {
  const lines = text.split('\n').map((line) => line.trim())
  const entries = lines.filter((line) => line !== '').map((line) => entryOf(line, source))
  if (entries[0]?.untilMs !== Number.POSITIVE_INFINITY) throw malformed(source)
  return entries
}

export const newMasterKey = (): MasterKeyEntry => ({
  text: randomBytes(32).toString('base64url'),
  untilMs: Number.POSITIVE_INFINITY,
})

/** The text of entries, for a file. */
export const writeMasterKeys = (entries: readonly MasterKeyEntry[]): string =>
  entries
    .map(({ text, untilMs }) =>
      untilMs === Number.POSITIVE_INFINITY ? `${text}\n` : `${text} until ${new Date(untilMs).toISOString()}\n`,
    )
    .join('')

export function masterKeyOf({ text }: Pick<MasterKeyEntry, 'text'>): MasterKey {
  const key = Buffer.from(text, 'base64url')
  const derived = (info: string, bytes: number) => Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), info, bytes))
  return {
    id: derived('attribution key id', 6).toString('base64url'),
    sealing: derived('attribution sealing v2', 32),
    signingBackups: derived('attribution backups v1', 32),
  }
}

function keysOf(entries: readonly MasterKeyEntry[], clock: () => number): MasterKeys {
  const keys = entries.map((entry) => ({ ...masterKeyOf(entry), untilMs: entry.untilMs }))
  return {
    // The first key never expires: `parseMasterKeys` checks that.
    current: () => keys[0] as MasterKey,
    find: (id) => keys.find((key) => key.id === id && clock() < key.untilMs),
  }
}

function entryOf(line: string, source: string): MasterKeyEntry {
  const [text = '', until, instant = '', ...rest] = line.split(/\s+/)
  const untilMs = until === undefined ? Number.POSITIVE_INFINITY : Date.parse(instant)
  if (!KEY.test(text) || (until ?? 'until') !== 'until' || Number.isNaN(untilMs) || rest.length > 0) {
    throw malformed(source)
  }
  return { text, untilMs }
}

const malformed = (source: string): ConfigError =>
  new ConfigError(`${source} must hold 32 bytes as base64url, first the key that seals`)

/** Node's decoder skips invalid characters and would accept almost any file. Plain base64 is accepted, too. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/

function readFile(file: string): { readonly entries: readonly MasterKeyEntry[]; readonly version: string } {
  // The version is read first, so that a file that changes in between is read again.
  const version = versionOf(file)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`the master key file ${file} cannot be read`, { cause })
  }
  return { entries: parseMasterKeys(text, `the master key file ${file}`), version }
}

/** Changes when the file is replaced or written; empty when the file does not exist. */
function versionOf(file: string): string {
  const status = statSync(file, { throwIfNoEntry: false })
  return status === undefined ? '' : `${status.ino} ${status.mtimeMs} ${status.size}`
}
