import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { PROJECTS, projectOf, SECONDS_FILE, testFiles } from './support/run/projects.js'

const files = testFiles()

test('every project has test files', () => {
  expect(new Set(files.map(projectOf))).toEqual(new Set(PROJECTS))
})

test.each([
  ['test/faults/kill.test.ts', 'faults'],
  ['test/own-instance/tls.test.ts', 'own-instance'],
  ['test/product/reports.test.ts', 'product'],
  // It launches the product through `support/contract`.
  ['test/contract/credentials.test.ts', 'product'],
  ['test/contract/compatibility.test.ts', 'unit'],
  // It launches a store through `support/store`.
  ['test/internal/store/sink.test.ts', 'engine'],
  ['test/internal/ids/ids.test.ts', 'unit'],
] as const)('%s belongs to the project %s', (file, project) => {
  expect(files).toContain(file)
  expect(projectOf(file)).toBe(project)
})

test('only the folders of the whole product, and the contract tests, launch it', () => {
  const launching = files.filter((file) => /support\/(service|product|model-instance)\.js'/.test(codeOf(file)))
  const elsewhere = launching.filter((file) => ['engine', 'unit'].includes(projectOf(file)))

  expect(elsewhere).toEqual([])
})

test('a test of the shared instance stops and signals none of its processes', () => {
  const wrong = files.filter(
    (file) => projectOf(file) === 'product' && /\bservice\.(stop|kill|process)\b/.test(codeOf(file)),
  )

  expect(wrong).toEqual([])
})

test('the recorded seconds are numbers', () => {
  const seconds = JSON.parse(readFileSync(SECONDS_FILE, 'utf8')) as Record<string, unknown>

  expect(Object.values(seconds).filter((value) => typeof value !== 'number')).toEqual([])
})

const codeOf = (file: string): string => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
