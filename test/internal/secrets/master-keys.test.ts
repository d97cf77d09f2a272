import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { ConfigError } from '../../../internal/config/settings.js'
import { masterKeyOf, parseMasterKeys, readMasterKeys, writeMasterKeys } from '../../../internal/secrets/master-keys.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-master-keys-'))
afterAll(() => rmSync(folder, { recursive: true }))

const file = join(folder, 'master.key')
const read = (content: string, clock?: () => number) => {
  writeFileSync(file, content)
  return readMasterKeys({ masterKey: '', masterKeyFile: file }, clock)
}

const KEY = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 37))
const TEXT = KEY.toString('base64url')
const OTHER = Buffer.alloc(32, 9).toString('base64url')
const idOf = (text: string): string => masterKeyOf({ text }).id

test('a master key file with 32 bytes in base64url or base64 is read, with or without a line end', () => {
  for (const encoding of ['base64url', 'base64'] as const) {
    for (const end of ['', '\n', '\r\n']) {
      const keys = read(KEY.toString(encoding) + end)

      expect(keys.current()).toMatchObject(masterKeyOf({ text: TEXT }))
      expect(keys.find(idOf(TEXT))).toMatchObject(keys.current())
    }
  }
})

test('a master key’s id does not reveal the key, and is not the sealing key', () => {
  const { id, sealing } = masterKeyOf({ text: TEXT })

  expect(id).toMatch(/^[\w-]{8}$/)
  expect(TEXT).not.toContain(id)
  expect(Buffer.from(sealing).equals(KEY)).toBe(false)
})

test('the first of several master keys seals, all of them open, and a replaced one only until it expires', () => {
  let nowMs = Date.UTC(2026, 10, 21, 12)
  const keys = read(`${TEXT}\n${OTHER} until 2026-11-21T13:00:00.000Z\n`, () => nowMs)

  expect(keys.current().id).toBe(idOf(TEXT))
  expect(keys.find(idOf(OTHER))?.id).toBe(idOf(OTHER))
  nowMs = Date.UTC(2026, 10, 21, 13)
  expect(keys.find(idOf(OTHER))).toBeUndefined()
  expect(keys.find('AAAAAAAA')).toBeUndefined()
})

test('a replaced master key file is read again when a key is requested', () => {
  const keys = read(TEXT)
  writeFileSync(`${file}.new`, `${OTHER}\n${TEXT}\n`)
  renameSync(`${file}.new`, file)

  expect(keys.current().id).toBe(idOf(OTHER))
  expect(keys.find(idOf(TEXT))?.id).toBe(idOf(TEXT))
})

test('a process keeps its master keys when the file is deleted or becomes invalid', () => {
  const keys = read(TEXT)

  for (const change of [() => writeFileSync(file, 'half'), () => rmSync(file)]) {
    change()
    expect(keys.current().id).toBe(idOf(TEXT))
  }
})

test('comma-separated master keys in the environment take precedence over a file', () => {
  const keys = readMasterKeys({ masterKey: `${TEXT},${OTHER}`, masterKeyFile: join(folder, 'none') })

  expect(keys.current().id).toBe(idOf(TEXT))
  expect(keys.find(idOf(OTHER))?.id).toBe(idOf(OTHER))
})

test('master key entries are read back as written', () => {
  const entries = [
    { text: TEXT, untilMs: Number.POSITIVE_INFINITY },
    { text: OTHER, untilMs: Date.UTC(2026, 10, 22) },
  ]

  expect(parseMasterKeys(writeMasterKeys(entries), 'here')).toEqual(entries)
})

test.each([
  ['31 bytes', KEY.subarray(1).toString('base64url')],
  ['33 bytes', Buffer.concat([KEY, KEY.subarray(0, 1)]).toString('base64url')],
  ['nothing', ''],
  ['hexadecimal digits', KEY.toString('hex')],
  ['a text with strange characters between', [...TEXT].join(' ')],
  ['a key and something else', `${TEXT} since 2026-11-21T13:00:00Z`],
  ['a key and no time', `${TEXT}\n${OTHER} until tomorrow`],
  ['a first key that was replaced', `${TEXT} until 2026-11-21T13:00:00Z`],
])('a master key file with %s is refused in one line that does not show the content', (_, content) => {
  expect(() => read(content)).toThrow(
    new ConfigError(`the master key file ${file} must hold 32 bytes as base64url, first the key that seals`),
  )
})

test('a missing master key file is named in the error, as is the absence of both file and text', () => {
  const missing = join(folder, 'none')

  expect(() => readMasterKeys({ masterKey: '', masterKeyFile: missing })).toThrow(
    new ConfigError(`the master key file ${missing} cannot be read`),
  )
  expect(() => readMasterKeys({ masterKey: '', masterKeyFile: '' })).toThrow(ConfigError)
})
