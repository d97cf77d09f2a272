import { join } from 'node:path'
import type { Processes } from '../processes.js'

/** Host name of the receiver at the bench's name server. */
export const RECEIVER_HOST = 'receiver.example.com'

/** A certificate for localhost that is its own authority. Made by openssl, which every system of ours has. */
export async function writeLocalCertificate(
  folder: string,
  processes: Processes,
): Promise<{ readonly certFile: string; readonly keyFile: string }> {
  const [certFile, keyFile] = [join(folder, 'receiver.crt'), join(folder, 'receiver.key')]
  await processes.run('openssl', 'openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', `subjectAltName=DNS:localhost,DNS:${RECEIVER_HOST},IP:127.0.0.1`],
    ...['-keyout', keyFile, '-out', certFile],
  ])
  return { certFile, keyFile }
}
