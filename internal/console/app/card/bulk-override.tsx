import type { OverridesPreview, BulkOverride as Running } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { askedIn, type Filter, statedFilter, within } from '../../figures/filters.js'
import type { Period } from '../../figures/period.js'
import { callsShown, countShown, decimalShown, decimalsOf, usdShown } from '../../figures/shown.js'
import { wordOf } from '../../figures/words.js'
import { ask } from '../api/ask.js'
import { AndMore } from '../parts/and-more.js'
import { change, followed } from '../parts/change.js'
import { Field } from '../parts/field.js'
import { Form } from '../parts/form.js'
import { Name, ServiceCells } from '../parts/name.js'
import { Table } from '../parts/table.js'
import { useDoing } from '../parts/use-doing.js'

type Moved = OverridesPreview['before'][number]

interface Preview extends OverridesPreview {
  /** Of what: it is neither shown nor done once the page asks for other calls. */
  readonly asked: string
}

const PATH = '/v1/attribution/overrides'
const ENDED = ['applied', 'cancelled', 'undone']

interface BulkOverrideProps {
  readonly period: Period
  readonly filters: readonly Filter[]
  /** Called as records change, and when all have. */
  readonly onMoving: (isOver: boolean) => void
}

/** Gives all calls of the period that the filters select to one service: shows what would change, changes it, can undo it. */
export function BulkOverride({ period, filters, onMoving }: BulkOverrideProps) {
  const asked = askedIn(period, filters)
  const [last, setPreview] = useState<Preview | undefined>()
  const preview = last?.asked === asked ? last : undefined
  const [running, setRunning] = useState<Running | undefined>()
  const { doing, outcome, isBusy } = useDoing()
  const look = async (fields: FormData): Promise<void> => {
    const stated = Object.fromEntries(fields)
    const selected = within(period, filters).map(statedFilter)
    const seen = await change<OverridesPreview>('POST', PATH, { dry_run: true, filters: selected, ...stated })
    setPreview({ ...seen, asked })
  }
  /** Follows a job to its end. */
  const follow = async (id: string): Promise<void> => {
    const path = `${PATH}/${id}/status`
    let moved: number | undefined
    await followed(
      await ask<Running>(path),
      ({ status }) => ENDED.includes(status),
      path,
      (seen) => {
        setRunning(seen)
        const now = movedBy(seen)
        if (moved !== undefined && now !== moved) onMoving(false)
        moved = now
      },
    )
    onMoving(true)
  }
  const apply = ({ token }: Preview) =>
    doing(async () => {
      await change('POST', PATH, { dry_run: false, token })
      setPreview(undefined)
      await follow(token)
      return ''
    })
  const undo = ({ id }: Running) =>
    doing(async () => {
      await change('POST', `${PATH}/${id}/undo`)
      await follow(id)
      return ''
    })

  return (
    <div class="bulk">
      {preview === undefined ? (
        running === undefined && <Wanted send={look} />
      ) : (
        <PreviewShown
          preview={preview}
          isBusy={isBusy}
          onApply={() => void apply(preview)}
          onBack={() => setPreview(undefined)}
        />
      )}
      {running !== undefined && (
        <p role="status">
          {wordOf(running.status)}: {countShown(movedBy(running))} of {countShown(running.records)} calls.{' '}
          {running.status === 'applied' && (
            <button type="button" disabled={isBusy} onClick={() => void undo(running)}>
              Undo it
            </button>
          )}
        </p>
      )}
      {outcome}
    </div>
  )
}

/** Calls that a job has moved, or moved back. */
const movedBy = ({ restored, overridden }: Running): number => restored ?? overridden

const Wanted = ({ send }: { readonly send: (fields: FormData) => Promise<void> }) => (
  <Form verb="See what would change" isOneOfSeveral send={send}>
    <Field label="Service" name="service" required list="known-services" />
    <Field label="Owner" name="owner" required />
    <Field label="Why" hint="(shown with each record; no text of a call)" name="reason" required />
  </Form>
)

interface PreviewProps {
  readonly preview: Preview
  readonly isBusy: boolean
  readonly onApply: () => void
  readonly onBack: () => void
}

function PreviewShown({ preview, isBusy, onApply, onBack }: PreviewProps) {
  const { records, cost_usd: cost, before, after, unchanged, implausible_cost: implausible } = preview
  const target = after.map(({ service }) => service)[0] ?? ''
  return (
    <>
      <p>
        <span class="strong">{callsShown(records)}</span> of <span class="strong">USD {usdShown(cost)}</span> would go
        to <Name>{target}</Name>.
      </p>
      <Moves title="now" moved={before} />
      <Moves title="then" moved={after} />
      {unchanged.overridden + unchanged.disputed > 0 && (
        <p class="muted">
          {countShown(unchanged.overridden + unchanged.disputed)} more match and stay as they are: people have decided
          on them.
        </p>
      )}
      {implausible.records > 0 && (
        <p class="notice">
          {countShown(implausible.records)} of them state a cost that cannot be right (USD{' '}
          {usdShown(implausible.cost_usd)}). By hand they would be charged back.
        </p>
      )}
      <p class="actions">
        <button type="button" class="primary" disabled={isBusy || records === 0} onClick={onApply}>
          Give them to {target}
        </button>
        <button type="button" onClick={onBack}>
          Change it
        </button>
      </p>
    </>
  )
}

const LISTED_MAX = 8

function Moves({ title, moved }: { readonly title: string; readonly moved: readonly Moved[] }) {
  const decimals = decimalsOf(moved.map((each) => each.cost_usd))
  return (
    <Table label={`Whose they are ${title}`} head={[title, 'owner', '#calls', '#cost USD']}>
      {moved.slice(0, LISTED_MAX).map(({ service, owner, records, cost_usd: cost }) => (
        <tr key={`${service} ${owner}`}>
          <ServiceCells service={service} owner={owner} />
          <td class="number">{countShown(records)}</td>
          <td class="number">{decimalShown(cost, decimals)}</td>
        </tr>
      ))}
      <AndMore columns={4} count={moved.length - LISTED_MAX} />
    </Table>
  )
}
