import type { ExportScheduleTest } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { filterWords } from '../../../figures/filters.js'
import { countShown } from '../../../figures/shown.js'
import { fieldShown, wordOf } from '../../../figures/words.js'
import { change } from '../../parts/change.js'
import { Copies } from '../../parts/copy.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { Id } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import { useDoing } from '../../parts/use-doing.js'
import { MoveSchedule } from './form.js'
import { placeShown, REASONS, SCHEDULES_PATH, type Schedule } from './schedule.js'

interface DetailsProps {
  readonly schedule: Schedule
  readonly zone: string
  readonly onChanged: () => void
}

/** What a schedule writes, what it has delivered and what waits, and what can be done about it. */
export function Details({ schedule, zone, onChanged }: DetailsProps) {
  const { last_delivery: last, pending } = schedule
  return (
    <>
      <dl class="ledger">
        <dt>a row for each</dt>
        <dd>{schedule.group_by.map(fieldShown).join(', ')}</dd>
        <dt>calls</dt>
        <dd>
          {schedule.filters.map(({ field, operator, values }) => filterWords(field, operator, values)).join('; ') ||
            'all that may be charged'}
        </dd>
        <dt>file</dt>
        <dd>
          FOCUS {schedule.focus_version}, {wordOf(schedule.file_format)}, {countShown(schedule.columns.length)} columns
        </dd>
        <dt>goes to</dt>
        <dd>
          {placeShown(schedule.destination)}, with the key <Id>{schedule.destination.access_key_id}</Id>
        </dd>
        <dt>last delivered</dt>
        <dd>
          {last === null ? (
            'nothing yet'
          ) : (
            <>
              {last.period}, revision {last.revision}, <Instant ms={Date.parse(last.delivered_at)} zone={zone} />:{' '}
              <Copies text={last.manifest_key} />
            </>
          )}
        </dd>
      </dl>
      {pending.length > 0 && (
        <Table label="What waits" head={['period', 'due', '#failed attempts', 'why', 'tried again']}>
          {pending.map(({ period, revision, due_at: due, failures, reason, next_attempt_at: next }) => (
            <tr key={`${period} ${revision}`}>
              <th scope="row">
                {period}
                {revision > 1 && <span class="muted"> revision {revision}</span>}
              </th>
              <td>
                <Instant ms={Date.parse(due)} zone={zone} />
              </td>
              <td class="number">{countShown(failures)}</td>
              <td class="wide">{reason === null ? 'its time has not come' : REASONS[reason]}</td>
              <td>
                <Instant ms={Date.parse(next)} zone={zone} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <Actions schedule={schedule} onChanged={onChanged} />
    </>
  )
}

function Actions({ schedule, onChanged }: Omit<DetailsProps, 'zone'>) {
  const path = `${SCHEDULES_PATH}/${schedule.id}`
  const isPaused = schedule.status === 'paused'
  const [asking, setAsking] = useState<'move' | 'remove' | undefined>()
  const { doing, outcome, isBusy } = useDoing()
  const run = () =>
    doing(async () => {
      const { period } = await change<{ readonly period: string }>('POST', `${path}/run`, {})
      onChanged()
      return `${period} is being delivered.`
    })
  const test = () => doing(async () => testShown(await change<ExportScheduleTest>('POST', `${path}/test`)))
  const turn = () =>
    doing(async () => {
      await change('PATCH', path, { status: isPaused ? 'active' : 'paused' })
      onChanged()
      return isPaused
        ? 'What was missed is delivered now, as far as it is kept.'
        : 'Nothing is delivered until it goes on.'
    })
  return (
    <>
      {outcome}
      <p class="actions">
        <button type="button" disabled={isBusy} onClick={() => void test()}>
          Test the bucket
        </button>
        <button type="button" disabled={isBusy || isPaused} onClick={() => void run()}>
          Deliver the newest period now
        </button>
        <button type="button" disabled={isBusy} onClick={() => void turn()}>
          {isPaused ? 'Go on' : 'Pause'}
        </button>
        <button type="button" onClick={() => setAsking('move')}>
          Change the bucket or its key
        </button>
        <button type="button" onClick={() => setAsking('remove')}>
          Remove
        </button>
      </p>
      {asking === 'move' && (
        <MoveSchedule schedule={schedule} onClose={() => setAsking(undefined)} onSaved={onChanged} />
      )}
      {asking === 'remove' && (
        <FormDialog
          title={`Remove ${schedule.name}`}
          verb="Remove the schedule"
          onClose={() => setAsking(undefined)}
          send={async () => {
            await change('DELETE', path)
            onChanged()
          }}
        >
          <p>Nothing more is delivered. What is in the bucket stays there.</p>
        </FormDialog>
      )}
    </>
  )
}

function testShown({ reason, response_status: status, probe_removed: isRemoved }: ExportScheduleTest): string {
  if (reason !== null) throw new Error(`It failed: ${REASONS[reason]}${status === null ? '' : ` (HTTP ${status})`}.`)
  return isRemoved
    ? 'It works: an object was written, and deleted again.'
    : 'It works: an object was written. It could not be deleted, which a schedule need not do.'
}
