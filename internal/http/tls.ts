import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { type Config, ConfigError } from '../config/settings.js'

/** PEM files: the certificate with its chain behind it, and its private key. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/**
 * The files of the configuration; undefined for plain http.
 *
 * @throws ConfigError with one line that says what to do
 */
export function readTls({
  tlsCertFile: certFile,
  tlsKeyFile: keyFile,
}: Config<'tlsCertFile' | 'tlsKeyFile'>): TlsFiles | undefined {
  if (certFile === '' && keyFile === '') return undefined
  if (certFile === '' || keyFile === '') throw new ConfigError('--tls-cert-file and --tls-key-file go together')
  try {
    checkTlsFiles({ certFile, keyFile })
  } catch (cause) {
    const reason = (cause as Error).message
    throw new ConfigError(`the certificate ${certFile} with the key ${keyFile} cannot be used: ${reason}`, { cause })
  }
  return { certFile, keyFile }
}

/** @throws Error that says what is wrong with them, for example that the key is another certificate's */
export function checkTlsFiles({ certFile, keyFile }: TlsFiles): void {
  createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
}

const LOOK_EVERY_MS = 2_000

/**
 * Looks every two seconds whether the files have been replaced, and takes the new ones over. Asked for by time and
 * not by file events, since a mounted secret changes by a link somewhere above it.
 *
 * @param takeOver called with files that fit together
 * @param failed called once for each change that cannot be taken over (yet): the two files are not replaced in the
 *   same instant
 * @returns stops looking
 */
export function followTlsFiles(
  files: TlsFiles,
  takeOver: () => Promise<void>,
  failed: (cause: unknown) => void,
): () => void {
  let taken = stateOf(files)
  let refused = ''
  const look = async (): Promise<void> => {
    const now = stateOf(files)
    if (now === taken) return
    try {
      checkTlsFiles(files)
      await takeOver()
      taken = now
    } catch (cause) {
      if (now !== refused) failed(cause)
      refused = now
    }
  }
  const timer = setInterval(() => void look(), LOOK_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** A text that changes with the files. */
const stateOf = ({ certFile, keyFile }: TlsFiles): string =>
  [certFile, keyFile]
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      return found === undefined ? 'missing' : `${found.ino} ${found.size} ${found.mtimeMs}`
    })
    .join()
