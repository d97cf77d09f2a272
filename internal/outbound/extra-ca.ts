import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/settings.js'

/**
 * Certificates in PEM that are trusted in addition to the public ones.
 *
 * @param file empty: none
 * @throws ConfigError when the file cannot be read: to be called before the role connects to anything
 */
export function readExtraCa(file: string): string | undefined {
  if (file === '') return undefined
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError(`the certificates in ${file} cannot be read`, { cause })
  }
}
