import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/settings.js'

/**
 * The key that seals every other secret: 32 bytes, written as base64url in a file that only its owner can read.
 *
 * @throws ConfigError with one line that says what is wrong with the file
 */
export function readMasterKey(file: string): Uint8Array {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new ConfigError(`the master key file ${file} cannot be read`, { cause })
  }
  if (!KEY.test(text)) throw new ConfigError(`the master key file ${file} must hold 32 bytes as base64url`)
  return Buffer.from(text, 'base64url')
}

/** Node's decoder passes over what is no base64, and would make some key of many a wrong file. Plain base64 is as good. */
const KEY = /^[A-Za-z0-9+/_-]{43}=?$/
