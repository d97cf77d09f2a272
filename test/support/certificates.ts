/** Self-signed certificates (X.509 v3, ECDSA P-256) for localhost and 127.0.0.1, created without an external tool. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import type { TlsFiles } from '../../internal/http/tls.js'

export interface Certificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts)
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.of(0), content)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const time = (at: Date): Buffer => der(0x18, Buffer.from(`${at.toISOString().replace(/\D/g, '').slice(0, 14)}Z`))

const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'))
const YEAR_MS = 365 * 24 * 60 * 60 * 1000

/**
 * @param name common name; distinguishes the certificates of a test
 * @param hosts names for which it is valid, in addition to localhost and 127.0.0.1
 * @param validMs from now on
 */
export function makeCertificate(name: string, hosts: readonly string[] = [], validMs = YEAR_MS): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const subject = sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(name)))))
  const now = Date.now()
  const hostNames = ['localhost', ...hosts].map((host) => der(0x82, Buffer.from(host)))
  const names = sequence(...hostNames, der(0x87, Buffer.of(127, 0, 0, 1)))
  const extensions = sequence(
    sequence(oid('551d11'), der(0x04, names)),
    sequence(oid('551d13'), der(0x01, Buffer.of(0xff)), der(0x04, sequence(der(0x01, Buffer.of(0xff))))),
  )
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1), randomBytes(15)),
    ECDSA_WITH_SHA256,
    subject,
    sequence(time(new Date(now - YEAR_MS)), time(new Date(now + validMs))),
    subject,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, extensions),
  )
  const whole = sequence(toBeSigned, ECDSA_WITH_SHA256, bits(sign('sha256', toBeSigned, privateKey)))
  const lines = whole.toString('base64').replace(/.{1,64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
  }
}

/** Replaces both files, each in one step. */
export function writeCertificate({ certFile, keyFile }: TlsFiles, { cert, key }: Certificate): void {
  for (const [file, text] of [
    [keyFile, key],
    [certFile, cert],
  ] as const) {
    writeFileSync(`${file}.new`, text, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
}
