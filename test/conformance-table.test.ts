import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checksIn } from './support/conformance/checks.js'
import { DRIVERS, pinnedVersion } from './support/conformance/pins.js'
import { cellsOf, rowsOf, TABLE, withRows } from './support/conformance/table.js'
import { textOf } from './support/docs.js'
import { testFiles } from './support/run/projects.js'
import { isConformance } from './support/run/rings.js'

const rows = rowsOf(readFileSync(TABLE, 'utf8'))

test('each program of the ring has a row, and each row a program', () => {
  const named = testFiles()
    .filter(isConformance)
    .flatMap((file) => [...textOf(file).matchAll(/conformance\(\s*\{\s*name: '([^']+)'/g)].map(([, name = '']) => name))

  expect(rows.map(([, name]) => name).sort()).toEqual(named.sort())
})

test('a row says what passed, and of what failed the reason; no row depends on the day or the machine', () => {
  for (const [part, name, version, tries, passed, failed, why] of rows) {
    expect([part, name, version, tries].every(Boolean), name).toBe(true)
    expect(Number(passed), name).toBeGreaterThan(0)
    expect(Number(failed) > 0, name).toBe(why !== '')
    expect([version, tries, why].join(' '), name).not.toMatch(
      /\/(?:home|root|tmp|work|Users)\/|127\.0\.0\.1:|\d\d:\d\d/,
    )
  }
})

test('rows are replaced and added in the order of parts and programs; the others stay', () => {
  const row = { version: '1', tries: 'a|b', passed: 2, failed: 0, why: '' }
  const before = readFileSync(TABLE, 'utf8')
  const one = withRows(before, [cellsOf('zzz', { ...row, name: 'two' })])
  const both = withRows(one, [
    cellsOf('zzz', { ...row, name: 'one' }),
    cellsOf('zzz', { ...row, name: 'two', passed: 3 }),
  ])

  expect(rowsOf(both)).toEqual([
    ...rows,
    ['zzz', 'one', '1', 'a\\|b', '2', '0', ''],
    ['zzz', 'two', '1', 'a\\|b', '3', '0', ''],
  ])
  expect(both.split('|')[0]).toBe(before.split('|')[0])
})

test('a driver says of each check whether it passed', () => {
  expect([...checksIn('ok list\nnoise: ok no\nnot ok read: 404: absent\nok a b\n')]).toEqual([
    ['list', undefined],
    ['read', '404: absent'],
    ['a b', undefined],
  ])
})

const SETS = testFiles()
  .filter(isConformance)
  .flatMap((file) => [...textOf(file).matchAll(/\binstalls: '([^']+)'/g)].map(([, set = '']) => set))

test('what the programs need is pinned', () => {
  for (const set of SETS) {
    const files = readdirSync(join(DRIVERS, set))
    expect(files, set).toEqual(expect.arrayContaining([expect.stringMatching(PINS)]))
    for (const file of files.filter((name) => name === 'requirements.txt'))
      expect(readFileSync(join(DRIVERS, set, file), 'utf8'), set).toMatch(/^(?:[\w.[\]-]+==\S+\n)+$/)
  }
  expect(() => pinnedVersion('monitoring', 'nothing')).toThrow('does not pin')
})

const PINS = /^(?:requirements\.txt|package-lock\.json|go\.sum|pom\.xml)$/
