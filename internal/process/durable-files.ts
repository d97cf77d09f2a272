import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../config/settings.js'

/**
 * Small files that a start depends on: keys, credentials, passwords, marks. After a power cut such a file holds its
 * former text or the new one, never a part of either: a file system may write a name before the bytes behind it (seen:
 * files that a rename had put in place seconds before a cut were there, and empty).
 */

/** Replaces a file, readable by its owner only. On return it survives a power cut. @throws the system's error */
export const writeDurably = (file: string, text: string): void => replace(file, 'w', () => text)

/**
 * Replaces a file by what becomes of its text. Of two processes that change it at once, one is refused.
 *
 * @throws the system's error: EEXIST while another process changes it, or after one was ended in the middle of it
 */
export const changeDurably = (file: string, change: (text: string) => string): void =>
  replace(file, 'wx', () => change(readFileSync(file, 'utf8')))

/** The file that is put in place of another one, while it is written. */
export const unfinishedOf = (file: string): string => `${file}.new`

function replace(file: string, flags: 'w' | 'wx', make: () => string): void {
  const unfinished = unfinishedOf(file)
  const descriptor = openSync(unfinished, flags, 0o600)
  try {
    writeFileSync(descriptor, make())
    fsyncSync(descriptor)
    renameSync(unfinished, file)
  } catch (cause) {
    rmSync(unfinished, { force: true })
    throw cause
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}

/** Creates a folder and its missing parents. Node's recursive mkdir never returns where none can be, as below /proc. */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  const parent = dirname(folder)
  makeFolder(parent)
  mkdirSync(folder, { mode: 0o700 })
  syncFolder(parent)
}

/** Makes the names in a folder survive a power cut. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Reads what `writeDurably` wrote.
 *
 * @param parse throws when the text is not whole
 * @param remedy what the operator can do about a file that is not
 * @throws ConfigError that names the file
 */
export function readWhole<T>(file: string, parse: (text: string) => T, remedy: string): T {
  const text = readFileSync(file, 'utf8')
  try {
    return parse(text)
  } catch (cause) {
    const state = text.trim() === '' ? 'is empty' : 'is damaged'
    throw new ConfigError(`${file} ${state}, as a power cut or a full disk may have left it: ${remedy}`, { cause })
  }
}
