import { expect, test } from 'vitest'
import { passedOverLog } from '../../../../internal/ingest/otlp/passed-over-log.js'
import type { Logger } from '../../../../internal/telemetry/log.js'

test('counts are logged once a minute, by tenant and reason', () => {
  const lines: unknown[] = []
  const note = passedOverLog({ info: (fields: unknown) => void lines.push(fields) } as Logger)
  const start = Date.UTC(2026, 10, 23)

  note('tnt_1', new Map([['agent', 2]] as const), start)
  note(
    'tnt_1',
    new Map([
      ['agent', 1],
      ['tool', 4],
    ] as const),
    start + 1_000,
  )
  note('tnt_2', new Map([['chain', 1]] as const), start + 30_000)
  note('tnt_1', new Map([['agent', 5]] as const), start + 60_000)

  expect(lines).toEqual([
    { tenant_id: 'tnt_1', counts: { agent: 2 } },
    { tenant_id: 'tnt_1', counts: { agent: 6, tool: 4 } },
    { tenant_id: 'tnt_2', counts: { chain: 1 } },
  ])
})
