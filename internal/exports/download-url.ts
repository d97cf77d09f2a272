import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Signed download URLs: the token names the file, job, tenant and expiry. Anyone who has the URL can download without a
 * credential, so it is short-lived.
 */

export const DOWNLOAD_LIFETIME_MS = 15 * 60 * 1000
export const DOWNLOAD_PATH = '/v1/exports/files'

const DOWNLOADS = ['file', 'manifest'] as const
export type Download = (typeof DOWNLOADS)[number]

/** The content of a token. */
export interface Permission {
  readonly tenantId: string
  readonly jobId: string
  readonly download: Download
  readonly expiresAtMs: number
}

export interface DownloadTokens {
  issue(permission: Permission): string
  /** @returns undefined for an altered or expired token */
  read(token: string, nowMs: number): Permission | undefined
}

type Payload = readonly [version: 1, tenantId: string, jobId: string, download: Download, expiresAtMs: number]
const VERSION = 1
const PREFIX = 'dl_'
/** HMAC-SHA-256, not truncated. */
const MAC_BYTES = 32

/** @param key the instance's secret for downloads, 32 bytes */
export function createDownloadTokens(key: Uint8Array): DownloadTokens {
  const sign = (payload: Buffer): Buffer => createHmac('sha256', key).update(payload).digest()
  return {
    issue({ tenantId, jobId, download, expiresAtMs }) {
      const content: Payload = [VERSION, tenantId, jobId, download, expiresAtMs]
      const payload = Buffer.from(JSON.stringify(content))
      return PREFIX + Buffer.concat([sign(payload), payload]).toString('base64url')
    },
    read(token, nowMs) {
      if (!token.startsWith(PREFIX)) return undefined
      const text = token.slice(PREFIX.length)
      const bytes = Buffer.from(text, 'base64url')
      // Base64 can encode the same bytes in several ways; only the canonical form is accepted.
      if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return undefined
      const payload = bytes.subarray(MAC_BYTES)
      if (!timingSafeEqual(sign(payload), bytes.subarray(0, MAC_BYTES))) return undefined
      const [version, tenantId, jobId, download, expiresAtMs] = JSON.parse(payload.toString()) as Payload
      return version === VERSION && nowMs < expiresAtMs ? { tenantId, jobId, download, expiresAtMs } : undefined
    },
  }
}
