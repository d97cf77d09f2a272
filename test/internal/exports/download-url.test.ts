import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDownloadTokens } from '../../../internal/exports/download-url.js'

const tokens = createDownloadTokens(new Uint8Array(32).fill(1))
const PERMISSION = { tenantId: 'tnt_a', jobId: 'job_a', download: 'file', expiresAtMs: 1_000 } as const
const TOKEN = tokens.issue(PERMISSION)

test('a download token permits its file until it expires', () => {
  expect(tokens.read(TOKEN, 999)).toEqual(PERMISSION)
  expect(tokens.read(TOKEN, 1_000)).toBeUndefined()
})

test('a download token that is altered, shortened or extended permits nothing', () => {
  for (let at = 0; at < TOKEN.length; at++) {
    for (const other of ['A', 'B', '-', '_', '%']) {
      if (TOKEN[at] === other) continue
      expect(tokens.read(TOKEN.slice(0, at) + other + TOKEN.slice(at + 1), 0)).toBeUndefined()
    }
    expect(tokens.read(TOKEN.slice(0, at), 0)).toBeUndefined()
  }
  expect(tokens.read(`${TOKEN}A`, 0)).toBeUndefined()
  expect(tokens.read(`${TOKEN}=`, 0)).toBeUndefined()
})

test('a download token of another instance permits nothing', () => {
  expect(createDownloadTokens(new Uint8Array(32).fill(2)).read(TOKEN, 0)).toBeUndefined()
})

test('text that is not a download token permits nothing', () => {
  fc.assert(
    fc.property(
      fc.string(),
      (text) => tokens.read(`dl_${text}`, 0) === undefined && tokens.read(text, 0) === undefined,
    ),
  )
})
