import { expect, test } from 'vitest'
import { type ProbeDeps, runProbes } from '../../../../internal/ingest/probe/probe.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { METRICS } from '../../../../internal/telemetry/metrics.js'

type Sample = { readonly metricName?: string; readonly labels: object; readonly value: number }

/** Values of the metrics of probes, of all probes that this process has made. */
async function measured() {
  const visible = (await METRICS.getSingleMetric('attribution_probe_visible_seconds')?.get())?.values as Sample[]
  const failures = (await METRICS.getSingleMetric('attribution_probe_failures_total')?.get())?.values as Sample[]
  const failed = (reason: string) => failures.find(({ labels }) => 'reason' in labels && labels.reason === reason)
  return {
    visible: visible.find(({ metricName = '' }) => metricName.endsWith('_count'))?.value ?? 0,
    seconds: visible.find(({ metricName = '' }) => metricName.endsWith('_sum'))?.value ?? 0,
    refused: failed('refused')?.value ?? 0,
    late: failed('late')?.value ?? 0,
  }
}

/** Runs probes until so many were sent. @returns their event ids and what they added to the metrics */
async function probed(count: number, deps: Partial<ProbeDeps>) {
  const stop = new AbortController()
  const before = await measured()
  const sent: unknown[] = []
  const { admit = async () => true, ...others } = deps
  await runProbes(
    {
      everyMs: 1,
      isReadable: async () => true,
      log: createLog('test', 'silent'),
      ...others,
      async admit(event) {
        // The one after the last is not measured.
        if (sent.length === count) stop.abort()
        else sent.push(event.event_id)
        return admit(event)
      },
    },
    stop.signal,
  )
  const after = await measured()
  return {
    sent,
    visible: after.visible - before.visible,
    seconds: after.seconds - before.seconds,
    failures: [after.refused - before.refused, after.late - before.late],
  }
}

test('a probe is measured until its record is readable, whatever a look throws meanwhile', async () => {
  const looks = new Map<string, number>()
  const { sent, visible, seconds, failures } = await probed(2, {
    async isReadable(eventId) {
      const look = (looks.get(eventId) ?? 0) + 1
      looks.set(eventId, look)
      if (look === 1) throw new Error('no store')
      return look === 3
    },
  })

  expect(new Set(sent).size).toBe(2)
  expect(sent.map((id) => looks.get(id as string))).toEqual([3, 3])
  expect([visible, ...failures]).toEqual([2, 0, 0])
  expect(seconds).toBeGreaterThan(0)
})

test('a probe that is refused, or never readable, is counted as failed and not measured', async () => {
  const refused = await probed(3, { admit: async () => false })
  const late = await probed(2, { isReadable: async () => false, lateMs: 1 })

  expect([refused.visible, ...refused.failures]).toEqual([0, 3, 0])
  expect([late.visible, ...late.failures]).toEqual([0, 0, 2])
})

test('no probe is sent unless one is asked for', async () => {
  let sent = 0
  await runProbes(
    {
      everyMs: 0,
      admit: async () => ++sent > 0,
      isReadable: async () => true,
      log: createLog('test', 'silent'),
    },
    new AbortController().signal,
  )

  expect(sent).toBe(0)
})
