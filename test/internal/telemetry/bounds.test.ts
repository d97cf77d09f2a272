import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { boundLevel, watchBound } from '../../../internal/telemetry/bounds.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { METRICS } from '../../../internal/telemetry/metrics.js'

test('a bound is close from 75 % on and nearly reached from 90 % on, until it is five points below', () => {
  expect([0, 0.749, 0.75, 0.899, 0.9, 1.2].map((share) => boundLevel(share, 'normal'))).toEqual([
    'normal',
    'normal',
    'warning',
    'warning',
    'critical',
    'critical',
  ])
  expect([0.7, 0.699].map((share) => boundLevel(share, 'warning'))).toEqual(['warning', 'normal'])
  expect([0.85, 0.849, 0.69].map((share) => boundLevel(share, 'critical'))).toEqual(['critical', 'warning', 'normal'])
})

/**
 * Follows a bound through these shares. @returns the lines of its log and for the terminal, and the last value of its
 * gauge
 */
async function followed(shares: readonly (number | undefined | Error)[]) {
  const lines: string[] = []
  const notices: string[] = []
  const stop = new AbortController()
  const left = [...shares]
  const gauges: unknown[] = []
  const destination = {
    write(line: string) {
      const { level, msg, bound, usedPercent } = JSON.parse(line)
      lines.push([level, msg, bound, usedPercent].join(' '))
    },
  }
  await watchBound(
    {
      bound: 'spool',
      everyMs: 0,
      used: async () => {
        await setImmediate()
        gauges.push(await used())
        if (left.length === 0) stop.abort()
        const share = left.shift()
        if (share instanceof Error) throw share
        return share
      },
      notify: (line) => notices.push(line),
      log: createLog('test', 'info', { format: 'json', destination }),
    },
    stop.signal,
  )
  return { lines, notices, gauges: gauges.slice(1) }
}

async function used(): Promise<number | undefined> {
  const metric = await METRICS.getSingleMetric('attribution_bound_used_ratio')?.get()
  return metric?.values.find(({ labels }) => labels['bound'] === 'spool')?.value
}

test('each level is reported once when it begins and once when it ends, in the log and on the terminal', async () => {
  const { lines, notices } = await followed([0.5, 0.76, 0.74, 0.77, 0.91, 0.89, 0.95, 0.8, 0.76, 0.5, 0.6, 0.97])

  expect(lines).toEqual([
    'warn a bound comes close spool 76',
    'error a bound is nearly reached spool 91',
    'info a bound is less close again spool 80',
    'info a bound is no longer close spool 50',
    'error a bound is nearly reached spool 97',
  ])
  expect(notices).toEqual([
    'the spool is 76 % full: attribution doctor says what to do',
    'the spool is 91 % full: attribution doctor says what to do',
    'the spool is down to 80 %',
    'the spool is down to 50 %',
    'the spool is 97 % full: attribution doctor says what to do',
  ])
})

test('while the share cannot be read the last one stays, and a bound of another process has none', async () => {
  const { lines, gauges } = await followed([0.8, new Error('no broker'), 0.8, undefined, 0.1])

  expect(gauges).toEqual([0.8, 0.8, 0.8, undefined, 0.1])
  expect(lines).toEqual(['warn a bound comes close spool 80'])
})
