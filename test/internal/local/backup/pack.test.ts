import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pack, unpack } from '../../../../internal/local/backup/pack.js'
import { sealKeys, unsealKeys } from '../../../../internal/local/backup/sealed-keys.js'
import { atEnd } from '../../../support/run/at-end.js'
import { drawn } from '../../../support/run/rings.js'

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-pack-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function* inPieces(parts: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const part of parts) all.push(part)
  const bytes = Buffer.concat(all)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const unpackText = async (text: string): Promise<void> =>
  unpack(
    (async function* () {
      yield Buffer.from(text)
    })(),
    newFolder(),
  )

test('files come back byte for byte, from memory and from disk, in whatever pieces they arrive', async () => {
  const contents = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(contents, fc.boolean(), fc.integer({ min: 1, max: 50 }), async (files, isOnDisk, size) => {
      const [from, to] = [newFolder(), newFolder()]
      const packed = files.map((bytes, i) => {
        const file = join(from, String(i))
        writeFileSync(file, bytes)
        return { path: `folder ${i}/ü\n${i}`, bytes: bytes.length, content: isOnDisk ? file : bytes }
      })
      await unpack(inPieces(pack(packed), size), to)

      expect(readdirSync(to)).toHaveLength(files.length)
      for (const [i, bytes] of files.entries()) {
        expect(Buffer.compare(readFileSync(join(to, `folder ${i}`, `ü\n${i}`)), bytes)).toBe(0)
      }
    }),
    { numRuns: drawn(50) },
  )
})

test.each([
  ['no list of files', 'no line'],
  ['a path that leads out of the folder', '[["../outside",1]]\nx'],
  ['an absolute path that leads out', '[["a/../../outside",1]]\nx'],
  ['too few bytes', '[["inside",5]]\nx'],
  ['too many bytes', '[["inside",1]]\nxy'],
])('a pack with %s is refused', async (_, text) => {
  await expect(unpackText(text)).rejects.toThrow(/backup/)
})

test('keys open by their passphrase only, and not when a byte of them was changed', () => {
  const keys = { masterKey: 'master\n', credentials: undefined }
  const sealed = sealKeys(keys, 'right')

  expect(unsealKeys(sealed, 'right')).toEqual({ masterKey: 'master\n' })
  expect(() => unsealKeys(sealed, 'wrong')).toThrow('passphrase does not open')
  const changed = Buffer.from(sealed)
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1)
  expect(() => unsealKeys(changed, 'right')).toThrow('passphrase does not open')
  expect(Buffer.from(sealed).includes('master')).toBe(false)
})
