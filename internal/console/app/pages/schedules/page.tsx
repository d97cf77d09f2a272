import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { countShown } from '../../../figures/shown.js'
import { useList } from '../../api/use-list.js'
import { Ago } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Inside, type Opening, Opens, openingOf } from '../../parts/opens.js'
import type { PageProps } from '../page-props.js'
import { Details } from './details.js'
import { AddSchedule } from './form.js'
import { CADENCES, placeShown, SCHEDULES_PATH, type Schedule } from './schedule.js'

const HEAD = ['schedule', 'a file for', 'goes to', 'last delivered', 'waiting', 'status']

/** Files for chargeback that are written to a bucket of the tenant's own, month by month or day by day. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Schedule>(SCHEDULES_PATH)
  const [isAdding, setAdding] = useState(false)
  const opening = openingOf(params, 'schedule')
  return (
    <>
      <ListSection
        title="Export schedules"
        what="the schedules"
        about="Each closed day or month as a FOCUS file in your own bucket, and again where its records change."
        actions={
          <button type="button" onClick={() => setAdding(true)}>
            Add a schedule
          </button>
        }
        list={list}
        head={HEAD}
        empty="None yet. A single file is created under Exports."
        row={(schedule) => (
          <Fragment key={schedule.id}>
            <Row schedule={schedule} opening={opening} />
            {opening.isOpen(schedule.id) && (
              <Inside columns={HEAD.length}>
                <Details schedule={schedule} zone={zone} onChanged={list.answer.reload} />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {isAdding && <AddSchedule onClose={() => setAdding(false)} onSaved={list.answer.reload} />}
    </>
  )
}

function Row({ schedule, opening }: { readonly schedule: Schedule; readonly opening: Opening }) {
  const { id, name, status, cadence, destination, last_delivery: last, pending } = schedule
  const failing = pending.filter(({ reason }) => reason !== null).length
  return (
    <tr class={status === 'paused' ? 'apart' : undefined}>
      <th scope="row">
        <Opens id={id} opening={opening}>
          <Name>{name}</Name>
        </Opens>
      </th>
      <td>{CADENCES[cadence]}</td>
      <td class="wide">{placeShown(destination)}</td>
      <td>
        {last === null ? (
          'nothing yet'
        ) : (
          <>
            {last.period}, <Ago ms={Date.parse(last.delivered_at)} />
          </>
        )}
      </td>
      <td>
        {pending.length === 0 ? 'none' : countShown(pending.length)}
        {failing > 0 && <strong>, {countShown(failing)} failing</strong>}
      </td>
      <td>{status}</td>
    </tr>
  )
}
