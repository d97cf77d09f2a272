import { hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { ConfigError } from '../config/settings.js'

/** A master key as it seals and opens: the key itself is not kept. */
export interface MasterKey {
  /** 8 characters that follow from the key and do not tell it. */
  readonly id: string
  /** 32 bytes, derived from it. */
  readonly sealing: Uint8Array
}

/**
 * The keys that seal every other secret. The first one seals, all of them open, so that a key can be replaced while
 * processes run.
 */
export interface MasterKeys {
  /** The key that seals now. */
  current(): MasterKey
  /** The key of this id; undefined when it is not, or no longer, among them. */
  find(id: string): MasterKey | undefined
}

/** A line of the file, or an item of the text. */
export interface MasterKeyEntry {
  /** As it was written: 32 bytes as base64url or base64. */
  readonly text: string
  /** Milliseconds since the epoch; from then on the key opens nothing any more. */
  readonly untilMs: number
}

/**
 * Reads the master keys from where the settings say: a text of one or several keys, parted by commas, or a file of one
 * a line. The file is looked at again whenever a key is asked for, and read again when it has changed.
 *
 * @throws ConfigError with one line that says what is wrong
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
  const look = (): MasterKeys => {
    if (versionOf(masterKeyFile) === known.version) return keys
    try {
      known = readFile(masterKeyFile)
      keys = keysOf(known.entries, clock)
    } catch (cause) {
      // What was read counts until there is something to read again.
      if (!(cause instanceof ConfigError)) throw cause
    }
    return keys
  }
  return { current: () => look().current(), find: (id) => look().find(id) }
}

/**
 * The entries of a text, one a line: a key, and `until` an RFC 3339 time for one that was replaced.
 *
 * @param source named when it is wrong
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
  return { id: derived('attribution key id', 6).toString('base64url'), sealing: derived('attribution sealing v2', 32) }
}

function keysOf(entries: readonly MasterKeyEntry[], clock: () => number): MasterKeys {
  const keys = entries.map((entry) => ({ ...masterKeyOf(entry), untilMs: entry.untilMs }))
  return {
    // The first one is good for ever: `parseMasterKeys` has seen to it.
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

/** Node's decoder passes over what is no base64, and would make some key of many a wrong file. Plain base64 is as good. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/

function readFile(file: string): { readonly entries: readonly MasterKeyEntry[]; readonly version: string } {
  // The version first: a file that changes in between is read again.
  const version = versionOf(file)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`the master key file ${file} cannot be read`, { cause })
  }
  return { entries: parseMasterKeys(text, `the master key file ${file}`), version }
}

/** Other when the file was replaced or written; empty when it is not there. */
function versionOf(file: string): string {
  const status = statSync(file, { throwIfNoEntry: false })
  return status === undefined ? '' : `${status.ino} ${status.mtimeMs} ${status.size}`
}
