import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dueAt, maintainedPeriods, readPeriod } from '../../../../internal/exports/schedules/periods.js'
import {
  CORRECTION_EVERY_MS,
  checked,
  failed,
  finished,
  initialProgress,
  LATE_AFTER_MS,
  nextStep,
  opened,
  type StoredProgress,
  unchanged,
  withoutPeriod,
} from '../../../../internal/exports/schedules/progress.js'
import { placeOf, type Schedule } from '../../../../internal/exports/schedules/schedule.js'

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]
const CREATED = Date.parse('2027-12-20T10:00:00Z')

const scheduleOf = (stated: Partial<Schedule> = {}): Schedule => ({
  id: 'sch_a',
  tenant_id: 'tnt_a',
  name: 'Lake',
  status: 'active',
  cadence: 'daily',
  request: { group_by: ['provider'], filters: [], file_format: 'csv', focus_version: '1.4', columns: [] },
  destination: {
    endpoint: 'https://s3.example.com',
    region: 'eu-central-1',
    bucket: 'lake',
    prefix: '',
    path_style: true,
    access_key_id: 'key',
    secret: 'sealed',
  },
  run: null,
  created_by: 'key_a',
  created_at: new Date(CREATED).toISOString(),
  ...stated,
})

/** What a runner does with a schedule, without its effects. */
class Simulation {
  readonly written: { readonly period: string; readonly revision: number; readonly sequence: number }[] = []
  readonly late: string[] = []
  readonly gaveUp: string[] = []
  progress: StoredProgress
  private readonly schedule: Schedule
  constructor(schedule: Schedule) {
    this.schedule = schedule
    this.progress = initialProgress(schedule)
  }
  /** @param fails what the bucket refuses @param content of a period's file now */
  run(
    nowMs: number,
    fails: boolean | 'manifest',
    content: (period: string) => { readonly digest: string; readonly changedAtMs: number },
  ): void {
    for (let steps = 0; ; steps++) {
      if (steps > 1_000) throw new Error('the schedule finds no end')
      const { progress } = this
      const step = nextStep(this.schedule, progress, nowMs)
      switch (step.kind) {
        case 'wait':
          return
        case 'open':
          this.progress = opened(progress, step, nowMs)
          break
        case 'late':
          this.late.push(step.period.name)
          this.progress = {
            ...progress,
            pending: { ...progress.pending, [step.period.name]: { ...step.pending, is_late: true } },
          }
          break
        case 'give_up':
          this.gaveUp.push(step.period)
          this.progress = { ...progress, pending: withoutPeriod(progress.pending, step.period) }
          break
        case 'check': {
          const changed = step.periods.map(({ name, from }) => [from, content(name).changedAtMs] as const)
          this.progress = checked(progress, step.periods, new Map(changed), nowMs)
          break
        }
        case 'deliver': {
          const { name } = step.period
          if (fails === true) this.progress = failed(progress, name, 'access_denied', nowMs, 1)
          else if (progress.delivered[name]?.file_sha256 === content(name).digest) {
            this.progress = unchanged(progress, name, nowMs)
          } else
            this.progress = {
              ...progress,
              writing: this.writing(name, step.pending.revision, nowMs, content(name).digest),
            }
          break
        }
        case 'finish': {
          const { period, delivered, sequence } = step.writing
          if (fails !== false) this.progress = failed(progress, period, 'timeout', nowMs, 1)
          else {
            this.written.push({ period, revision: delivered.revision, sequence })
            this.progress = finished(progress, this.schedule.cadence, nowMs)
          }
        }
      }
    }
  }
  private writing(period: string, revision: number, nowMs: number, digest: string) {
    const delivered = { revision, file_sha256: digest, as_of_ms: nowMs, manifest_key: '', is_changed: false }
    const sequence = (this.progress.head?.sequence ?? 0) + 1
    const place = placeOf(this.schedule.destination)
    return { period, job_id: 'job_a', place, key: `${period}.${revision}`, text: '', sha256: '', sequence, delivered }
  }
}

const unchanging = () => ({ digest: 'one', changedAtMs: 0 })

test('every period that has closed since the creation is delivered once, in order, whatever fails meanwhile', () => {
  // Hours until the next tick, and whether the bucket fails then.
  const ticks = fc.array(fc.record({ hours: fc.integer({ min: 0, max: 30 }), fails: fc.boolean() }), { maxLength: 60 })
  fc.assert(
    fc.property(ticks, fc.constantFrom('daily', 'monthly'), (all, cadence) => {
      const simulation = new Simulation(scheduleOf({ cadence }))
      let nowMs = CREATED
      for (const { hours, fails } of all) {
        nowMs += hours * HOUR_MS
        simulation.run(nowMs, fails, unchanging)
      }
      nowMs += 2 * HOUR_MS
      simulation.run(nowMs, false, unchanging)

      const names = simulation.written.map(({ period }) => period)
      const due = maintainedPeriods(cadence, nowMs).filter((period) => period.toMs > CREATED && dueAt(period) <= nowMs)
      expect(new Set(names).size).toBe(names.length)
      expect(names).toEqual(expect.arrayContaining(due.map(({ name }) => name)))
      expect(simulation.written.every(({ revision }) => revision === 1)).toBe(true)
      // The chain has no gap and no fork.
      expect(simulation.written.map(({ sequence }) => sequence)).toEqual(names.map((_, i) => i + 1))
      expect(new Set(simulation.late).size).toBe(simulation.late.length)
    }),
  )
})

test('a period is late once, twelve hours after it was due, and never when it was delivered', () => {
  const simulation = new Simulation(scheduleOf())
  const [period] = [readPeriod('daily', '2027-12-20')]
  if (period === undefined) throw new Error('no period')
  const due = dueAt(period)

  simulation.run(due, true, unchanging)
  simulation.run(due + LATE_AFTER_MS - 1, true, unchanging)
  expect(simulation.late).toEqual([])
  simulation.run(due + LATE_AFTER_MS, true, unchanging)
  simulation.run(due + LATE_AFTER_MS + HOUR_MS, true, unchanging)
  expect(simulation.late).toEqual(['2027-12-20'])
  simulation.run(due + LATE_AFTER_MS + 2 * HOUR_MS, false, unchanging)
  expect(simulation.written).toEqual([{ period: '2027-12-20', revision: 1, sequence: 1 }])
})

test('every due period is late when the manifest of one cannot be written', () => {
  const simulation = new Simulation(scheduleOf())
  const first = dueAt(readPeriod('daily', '2027-12-20') ?? { toMs: 0 })
  for (let hour = 0; hour < 62; hour++) simulation.run(first + hour * HOUR_MS, 'manifest', unchanging)
  expect(simulation.late).toEqual(['2027-12-20', '2027-12-21', '2027-12-22'])

  simulation.run(first + 63 * HOUR_MS, false, unchanging)
  expect(simulation.written.map(({ period }) => period)).toEqual(['2027-12-20', '2027-12-21', '2027-12-22'])
})

test('a changed period becomes a new revision at most once per day; an unchanged file none', () => {
  const simulation = new Simulation(scheduleOf())
  const first = dueAt(readPeriod('daily', '2027-12-20') ?? { toMs: 0 })
  let digest = 'one'
  let changedAtMs = 0
  const content = (period: string) => (period === '2027-12-20' ? { digest, changedAtMs } : unchanging())
  const revisions = () =>
    simulation.written.filter(({ period }) => period === '2027-12-20').map(({ revision }) => revision)
  simulation.run(first, false, content)

  digest = 'two'
  changedAtMs = first + HOUR_MS
  for (let at = first; at < first + CORRECTION_EVERY_MS; at += HOUR_MS) simulation.run(at, false, content)
  expect(revisions()).toEqual([1])
  simulation.run(first + CORRECTION_EVERY_MS, false, content)
  expect(revisions()).toEqual([1, 2])

  // A change that the file does not show.
  changedAtMs = first + 2 * DAY_MS
  for (let at = first + DAY_MS; at < first + 5 * DAY_MS; at += HOUR_MS) simulation.run(at, false, content)
  expect(revisions()).toEqual([1, 2])
  // After the days that are looked after.
  digest = 'three'
  changedAtMs = first + 40 * DAY_MS
  for (let at = first + 40 * DAY_MS; at < first + 43 * DAY_MS; at += HOUR_MS) simulation.run(at, false, content)
  expect(revisions()).toEqual([1, 2])
})

test('a paused schedule waits, and delivers what it has missed when it goes on', () => {
  const paused = new Simulation(scheduleOf({ status: 'paused' }))
  paused.run(CREATED + 5 * DAY_MS, false, unchanging)
  expect(paused.written).toEqual([])

  const active = new Simulation(scheduleOf())
  active.progress = paused.progress
  active.run(CREATED + 5 * DAY_MS, false, unchanging)
  expect(active.written.map(({ period }) => period)).toEqual([
    '2027-12-20',
    '2027-12-21',
    '2027-12-22',
    '2027-12-23',
    '2027-12-24',
  ])
})

test('a period that can no longer be delivered is given up', () => {
  const simulation = new Simulation(scheduleOf())
  for (let hours = 0; hours < 45 * 24; hours += 24) simulation.run(CREATED + hours * HOUR_MS, true, unchanging)

  expect(simulation.gaveUp[0]).toBe('2027-12-20')
  expect(Object.keys(simulation.progress.pending)).toHaveLength(35)
})

test('a request is taken up once, before the period is due', () => {
  const nowMs = Date.parse('2027-12-21T00:00:01Z')
  const run = { id: 'sch_run', period: '2027-12-20', requested_at: new Date(nowMs).toISOString() }
  const simulation = new Simulation(scheduleOf({ run }))

  simulation.run(nowMs, false, unchanging)
  simulation.run(nowMs + 1_000, false, unchanging)

  expect(simulation.written).toEqual([{ period: '2027-12-20', revision: 1, sequence: 1 }])
})
