import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * Download addresses carry their own permission: which file, of which job and tenant, until when, signed. Whoever has
 * one needs no credential, so that they are short-lived (spec 2.5).
 */

export const DOWNLOAD_LIFETIME_MS = 15 * 60 * 1000
export const DOWNLOAD_PATH = '/v1/exports/files'

export const DOWNLOADS = ['file', 'manifest'] as const
export type Download = (typeof DOWNLOADS)[number]

/** What an address permits. */
export interface Permission {
  readonly tenantId: string
  readonly jobId: string
  readonly download: Download
  readonly expiresAtMs: number
}

export interface DownloadTokens {
  issue(permission: Permission): string
  /** @returns undefined for a token that was altered in any byte, or has expired */
  read(token: string, nowMs: number): Permission | undefined
}

type Payload = readonly [version: 1, tenantId: string, jobId: string, download: Download, expiresAtMs: number]
const VERSION = 1
const PREFIX = 'dl_'
/** Of HMAC-SHA-256, whole. */
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
      // Base64 has several spellings of the same bytes; only ours counts as unaltered.
      if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return undefined
      const payload = bytes.subarray(MAC_BYTES)
      if (!timingSafeEqual(sign(payload), bytes.subarray(0, MAC_BYTES))) return undefined
      const [version, tenantId, jobId, download, expiresAtMs] = JSON.parse(payload.toString()) as Payload
      return version === VERSION && nowMs < expiresAtMs ? { tenantId, jobId, download, expiresAtMs } : undefined
    },
  }
}
