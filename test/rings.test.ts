import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, textOf } from './support/docs.js'
import { testFiles } from './support/run/projects.js'
import { isOuter, OUTER } from './support/run/rings.js'

const files = testFiles()
const inner = files.filter((file) => !isOuter(file))

test('every file of the outer ring exists', () => {
  expect(Object.keys(OUTER).filter((file) => !files.includes(file))).toEqual([])
})

test('no file looks like a test and is in neither ring', () => {
  const folders = ['bench', 'cmd', 'deploy', 'internal', 'streams', 'test']
  const below = folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )

  expect(below.filter((file) => /[.-](?:test|spec)\.[cm]?[jt]sx?$/.test(file) && !files.includes(file))).toEqual([])
})

test('every invariant of the architecture has a test in the inner ring', () => {
  const table = textOf('internal/README.md').split('## Invariants')[1]?.split('\n## ')[0] ?? ''
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
  const isHeld = (row: string): boolean =>
    [...(row.split('|').at(-2) ?? '').matchAll(/`(test\/[^`]+)`/g)].some(([, path = '']) =>
      inner.some((file) => (path.endsWith('/') ? file.startsWith(path) : file === path)),
    )

  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter((row) => !isHeld(row))).toEqual([])
})
