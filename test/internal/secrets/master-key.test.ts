import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ConfigError } from '../../../internal/config/settings.js'
import { readMasterKey } from '../../../internal/secrets/master-key.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-master-key-'))
afterAll(() => rmSync(folder, { recursive: true }))

const fileOf = (content: string): string => {
  const file = join(folder, 'master.key')
  writeFileSync(file, content)
  return file
}

const KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 37))

test('a file of 32 bytes as base64url or base64 is read, with or without a line end', () => {
  for (const encoding of ['base64url', 'base64'] as const) {
    for (const end of ['', '\n', '\r\n']) {
      expect(Buffer.from(readMasterKey(fileOf(KEY.toString(encoding) + end))).equals(KEY)).toBe(true)
    }
  }
})

test.each([
  ['31 bytes', KEY.subarray(1).toString('base64url')],
  ['33 bytes', Buffer.concat([KEY, KEY.subarray(0, 1)]).toString('base64url')],
  ['nothing', ''],
  ['hexadecimal digits', KEY.toString('hex')],
  ['a text with strange characters between', [...KEY.toString('base64url')].join(' ')],
])('a file of %s is refused in one line that does not show it', (_, content) => {
  const file = fileOf(content)

  expect(() => readMasterKey(file)).toThrow(
    new ConfigError(`the master key file ${file} must hold 32 bytes as base64url`),
  )
})

test('a file that is not there is named', () => {
  const file = join(folder, 'none')

  expect(() => readMasterKey(file)).toThrow(new ConfigError(`the master key file ${file} cannot be read`))
})
