import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { type Config, ConfigError } from '../config/settings.js'

/** PEM files: the certificate followed by its chain, and its private key. */
export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

/**
 * The configured files; undefined for plain HTTP.
 *
 * @throws ConfigError with one actionable line
 */
export function readTls({
  tlsCertFile: certFile,
  tlsKeyFile: keyFile,
}: Config<'tlsCertFile' | 'tlsKeyFile'>): TlsFiles | undefined {
  if (certFile === '' && keyFile === '') return undefined
  if (certFile === '' || keyFile === '')
    throw new ConfigError('--tls-cert-file and --tls-key-file must be set together')
  try {
    checkTlsFiles({ certFile, keyFile })
  } catch (cause) {
    const reason = (cause as Error).message
    throw new ConfigError(`cannot use TLS certificate ${certFile} with key ${keyFile}: ${reason}`, { cause })
  }
  return { certFile, keyFile }
}

/** @throws Error that names the defect, for example a key that does not match the certificate */
function checkTlsFiles({ certFile, keyFile }: TlsFiles): void {
  createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) })
}

const POLL_EVERY_MS = 2_000

/**
 * Checks every two seconds whether the files were replaced, and reloads them. Polling, because file events miss a
 * mounted secret: Kubernetes replaces a symlink in a parent directory.
 *
 * @param takeOver called when the new certificate and key match
 * @param failed called once per change that cannot be loaded, or not yet: the two files are not replaced atomically
 * @returns stops polling
 */
export function followTlsFiles(
  files: TlsFiles,
  takeOver: () => Promise<void>,
  failed: (cause: unknown) => void,
): () => void {
  let loaded = stateOf(files)
  let refused = ''
  const poll = async (): Promise<void> => {
    const now = stateOf(files)
    if (now === loaded) return
    try {
      checkTlsFiles(files)
      await takeOver()
      loaded = now
    } catch (cause) {
      if (now !== refused) failed(cause)
      refused = now
    }
  }
  const timer = setInterval(() => void poll(), POLL_EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** A string that changes whenever the files do. */
const stateOf = ({ certFile, keyFile }: TlsFiles): string =>
  [certFile, keyFile]
    .map((file) => {
      const found = statSync(file, { throwIfNoEntry: false })
      return found === undefined ? 'missing' : `${found.ino} ${found.size} ${found.mtimeMs}`
    })
    .join()
