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
  const key = Buffer.from(text, 'base64url')
  if (key.length !== 32) throw new ConfigError(`the master key file ${file} must hold 32 bytes as base64url`)
  return key
}
