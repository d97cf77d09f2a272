import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { API_TYPES, areApiTypesCurrent, ensureApiTypes } from '../../../deploy/setup/api-types.mjs'
import { ROOT } from '../../../deploy/setup/setup.mjs'
import { SetUpError } from '../../../deploy/setup/steps.mjs'

let project: string
const PROGRAM = 'cmd/gateway/api-types.ts'
const write = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(join(project, file)), { recursive: true })
  await writeFile(join(project, file), text)
}
const types = (): Promise<string> => readFile(join(project, API_TYPES), 'utf8')

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'api-types-'))
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  await write('package.json', '{"type":"module"}')
  await write('internal/one/name.data.json', '"One"')
  await write(
    'internal/one/name.ts',
    `import { readFileSync } from 'node:fs'
     export const name: string = JSON.parse(readFileSync(new URL('./name.data.json', import.meta.url), 'utf8'))\n`,
  )
  await write(
    PROGRAM,
    `import { mkdirSync, writeFileSync } from 'node:fs'
     import { dirname } from 'node:path'
     import { name } from '../../internal/one/name.js'
     const count: number = 'does not compile'
     const [file] = process.argv.slice(2) as [string]
     mkdirSync(dirname(file), { recursive: true })
     writeFileSync(file, \`export type \${name} = string\\n\`)\n`,
  )
})

afterEach(() => rm(project, { recursive: true, force: true }))

test('types are written from sources that do not compile, and again when one of these has changed', async () => {
  await ensureApiTypes(project)
  expect(await types()).toBe('export type One = string\n')
  expect(areApiTypesCurrent(project)).toBe(true)

  await write('internal/one/name.ts', "export const name = 'Another'\n")
  expect(areApiTypesCurrent(project)).toBe(false)
  await ensureApiTypes(project)

  expect(await types()).toBe('export type Another = string\n')
})

test('a program that fails ends the set-up, and its types are not current', async () => {
  await ensureApiTypes(project)
  await write('internal/one/name.ts', "throw new Error('no name')\n")

  await expect(ensureApiTypes(project)).rejects.toThrow(SetUpError)

  expect(areApiTypesCurrent(project)).toBe(false)
})
