import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { declaredStreams } from '../internal/broker/connect.js'
import { initialLayout } from '../internal/broker/layout.js'
import { codeBlocks, DECISIONS, DOCUMENTS, ROOT, textOf } from './support/docs.js'

/** Why a block of commands is not run by the tests: what it needs is not on a machine that has Node alone. */
const NEEDS = ['needs=cluster', 'needs=container-engine', 'needs=outside-service']

const TOP_FOLDERS = 'bench|cmd|deploy|internal|streams|test'

test.each(DOCUMENTS)('the paths that %s names exist', (document) => {
  const named = [...textOf(document).matchAll(new RegExp(`\`((?:${TOP_FOLDERS})/[^\`\\s<>*{}…,]*)\``, 'g'))]
  const missing = named.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, path)))

  expect(missing).toEqual([])
})

test.each(DOCUMENTS)('the links of %s lead to files that exist', (document) => {
  const prose = textOf(document).replace(/^```[\s\S]*?^```$/gm, '')
  const linked = [...prose.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)]
  const missing = linked.map(([, path = '']) => path).filter((path) => !existsSync(join(ROOT, dirname(document), path)))

  expect(missing).toEqual([])
})

test.each(DOCUMENTS)('the commands of %s run in the tests, or are marked with what they need', (document) => {
  const commands = codeBlocks(textOf(document)).filter(({ language }) => language === 'sh' || language === 'bash')

  expect(commands.filter(({ mark }) => mark !== '' && !NEEDS.includes(mark))).toEqual([])
})

test('the index of decisions lists every decision once, with a subject, a status and a date', () => {
  const rows = [
    ...textOf('deploy/decisions/README.md').matchAll(/^\| \[[^\]]+\]\(([^)]+)\) +\| ([^|]+?) +\| ([^|]+?) +\|$/gm),
  ]

  expect(rows.map(([, path = '']) => `deploy/decisions/${path}`).sort()).toEqual([...DECISIONS].sort())
  for (const [, , status = '', date = ''] of rows) {
    expect(status).toMatch(/^(accepted|replaced by \[.+\]\(.+\))$/)
    expect(date).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  }
})

test('the README fits on a few screens', () => {
  expect(textOf('README.md').split('\n').length).toBeLessThan(170)
})

test('the README asks for as much free disk as nats-server needs to reserve the streams of a new instance', () => {
  const bytes = declaredStreams(initialLayout({})).reduce((sum, { max_bytes = 0 }) => sum + Math.max(0, max_bytes), 0)
  const [, free] = /(\d+) GB of free\s+disk/.exec(textOf('README.md')) ?? []

  // By default it reserves three quarters of what is free at most.
  expect(Number(free)).toBeGreaterThanOrEqual(bytes / 0.75 / 1e9)
})
