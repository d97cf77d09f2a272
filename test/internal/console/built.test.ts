import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodingFor, readBuiltConsole } from '../../../internal/console/built.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'console-'))
  await mkdir(join(folder, 'assets'))
  await writeFile(join(folder, 'index.html'), '<!doctype html>')
  for (const suffix of ['', '.br', '.gz']) await writeFile(join(folder, 'assets', `main-1.js${suffix}`), `js${suffix}`)
})
afterAll(() => rm(folder, { recursive: true }))

test('the built console has each file in three encodings, and no file of another kind', () => {
  const { document, files } = readBuiltConsole(folder)

  expect(document).toBe('<!doctype html>')
  expect([...files.keys()]).toEqual(['main-1.js'])
  expect(files.get('main-1.js')?.bodies.br.toString()).toBe('js.br')
})

test.each([
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip;q=0.5', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['*', 'identity'],
  ['', 'identity'],
])('Accept-Encoding %j gets %s', (header, encoding) => {
  expect(encodingFor(header)).toBe(encoding)
})
