import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ensurePromtool } from '../../deploy/setup/promtool.mjs'
import { ROOT } from '../support/docs.js'

const FOLDER = join(ROOT, 'deploy', 'monitoring')
const alerts = readFileSync(join(FOLDER, 'alerts.yaml'), 'utf8')

let promtool: string
beforeAll(async () => {
  promtool = await ensurePromtool(ROOT)
})
const run = (...args: string[]) => spawnSync(promtool, args, { cwd: FOLDER, encoding: 'utf8' })

test('the alert rules are valid, fire on the series of their faults, and not on those of a quiet day', () => {
  const checked = run('check', 'rules', 'alerts.yaml')
  expect([checked.status, checked.stderr]).toEqual([0, ''])

  const tested = run('test', 'rules', 'alerts.test.yaml')
  expect([tested.status, tested.stdout.trim().split('\n').at(-1)?.trim()]).toEqual([0, 'SUCCESS'])
})

test('each alert is among those that must stay silent on a quiet day', () => {
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
  const quiet = readFileSync(join(FOLDER, 'alerts.test.yaml'), 'utf8')

  expect([...quiet.matchAll(/alertname: (\w+)/g)].map(([, name]) => name)).toEqual(names)
  expect(quiet).toContain(`value: ${names.length} }`)
})

test('each alert names a paragraph of the runbook, and only metrics that the documents list', () => {
  const runbook = readFileSync(join(ROOT, 'deploy', 'docs', 'runbook.md'), 'utf8')
  const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-'))
  const named = [...alerts.matchAll(/runbook: deploy\/docs\/runbook\.md#(\S+)/g)].map(([, anchor]) => anchor)
  expect(new Set(named)).toEqual(new Set(anchors))

  expect(undocumented(alerts)).toEqual([])
})

test('each query of the Grafana boards is valid PromQL, of metrics that the documents list', () => {
  const boards = readdirSync(join(FOLDER, 'grafana')).map((file) => readFileSync(join(FOLDER, 'grafana', file), 'utf8'))
  const queries = boards.flatMap((board) =>
    (JSON.parse(board) as Board).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  )
  // promtool parses the expressions of rules.
  const rules = queries.map((expr, i) => ({ record: `panel_${i}`, expr: expr.replaceAll('$__rate_interval', '5m') }))
  const folder = mkdtempSync(join(tmpdir(), 'boards-'))
  const file = join(folder, 'panels.yaml')
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
  const checked = run('check', 'rules', file)
  rmSync(folder, { recursive: true })

  expect([checked.status, checked.stderr]).toEqual([0, ''])
  expect(queries.length).toBeGreaterThan(25)
  expect(undocumented(queries.join('\n'))).toEqual([])
})

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

/** Metrics of ours that a text names and `deploy/docs/metrics.md` does not. */
function undocumented(text: string): string[] {
  const documents = readFileSync(join(ROOT, 'deploy', 'docs', 'metrics.md'), 'utf8')
  const documented = new Set([...documents.matchAll(/^\| `(attribution_\w+)`/gm)].map(([, name]) => name))
  const used = [...text.matchAll(/\b(attribution_[a-z_]+)/g)].map(([, name = '']) => name)
  return used.filter((name) => !documented.has(name) && !documented.has(name.replace(/_(bucket|sum|count)$/, '')))
}
