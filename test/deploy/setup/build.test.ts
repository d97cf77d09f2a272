import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureBuild, outputOf } from '../../../deploy/setup/build.mjs'
import { ROOT } from '../../../deploy/setup/setup.mjs'
import { SetUpError } from '../../../deploy/setup/steps.mjs'

let project: string
const inDist = (file: string): string => join(project, 'dist', file)
const write = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(join(project, file)), { recursive: true })
  await writeFile(join(project, file), text)
}

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), 'build-'))
  await symlink(join(ROOT, 'node_modules'), join(project, 'node_modules'))
  const compilerOptions = {
    target: 'ES2023',
    module: 'NodeNext',
    types: [],
    rootDir: '.',
    outDir: 'dist',
    incremental: true,
    tsBuildInfoFile: 'dist/.tsbuildinfo',
  }
  await write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['internal', 'test'] }))
  await write('package-lock.json', '{}')
  await write('internal/one.ts', 'export const one: number = 1\n')
  await write('internal/prices.data.json', '{"usd":"1"}')
  await write('test/one.test.ts', 'export const two: number = 2\n')
})

afterEach(() => rm(project, { recursive: true, force: true }))

test('the build compiles sources and copies their data files', async () => {
  await ensureBuild(project)

  expect(await readFile(inDist('internal/one.js'), 'utf8')).toContain('one = 1')
  expect(await readFile(inDist('internal/prices.data.json'), 'utf8')).toBe('{"usd":"1"}')
})

test('the build removes the outputs of deleted sources', async () => {
  await ensureBuild(project)
  await rm(join(project, 'test', 'one.test.ts'))
  await rm(join(project, 'internal', 'prices.data.json'))

  await ensureBuild(project)

  expect(existsSync(inDist('test/one.test.js'))).toBe(false)
  expect(existsSync(inDist('internal/prices.data.json'))).toBe(false)
  expect(existsSync(inDist('internal/one.js'))).toBe(true)
})

test('the build restores a deleted output', async () => {
  await ensureBuild(project)
  await rm(inDist('internal/one.js'))

  await ensureBuild(project)

  expect(existsSync(inDist('internal/one.js'))).toBe(true)
})

test('the build fails until the sources compile', async () => {
  await ensureBuild(project)
  await write('internal/one.ts', 'export const one: number = "wrong"\n')

  await expect(ensureBuild(project)).rejects.toThrow(/do not compile[\s\S]*one\.ts/)
  await expect(ensureBuild(project)).rejects.toBeInstanceOf(SetUpError)

  await write('internal/one.ts', 'export const one: number = 11\n')
  await ensureBuild(project)
  expect(await readFile(inDist('internal/one.js'), 'utf8')).toContain('11')
})

test.each([
  ['cmd/up/main.ts', 'cmd/up/main.js'],
  ['internal/valuation/cost/prices.data.json', 'internal/valuation/cost/prices.data.json'],
  ['internal/attribution/README.md', undefined],
  ['internal/legacy.d.ts', undefined],
  ['bench/data/trace.csv', undefined],
])('the build writes %s to %s in dist/', (source, output) => {
  expect(outputOf(source)).toBe(output)
})
