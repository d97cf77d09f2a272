import type { View } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { addressOf } from '../../figures/address.js'
import { ApiProblem } from '../api/ask.js'
import { useList } from '../api/use-list.js'
import { PAGES } from '../pages/pages.js'
import { change } from '../parts/change.js'
import { Dialog } from '../parts/dialog.js'
import { Check, Field } from '../parts/field.js'
import { Form, textOf } from '../parts/form.js'
import { ShowMore } from '../parts/more.js'
import { Name } from '../parts/name.js'
import { Shown } from '../parts/states.js'
import { Table } from '../parts/table.js'
import { useDoing } from '../parts/use-doing.js'
import { currentTokens, hasScope } from '../session/session.js'
import type { OverlayProps } from './overlay-props.js'

const PATH = '/api/v1/views'

/** Pages with their filters, period and the like, saved by name: for oneself, or for all of the tenant. */
export function SavedViews({ page, params, onClose }: OverlayProps) {
  const list = useList<View>(PATH, { limit: '200' })
  const { doing, outcome } = useDoing()
  const { reload } = list.answer
  const save = async (fields: FormData): Promise<void> => {
    const name = textOf(fields, 'name') ?? ''
    const view = { name, page, query: params.toString(), shared: fields.has('shared') }
    const before = list.rows.find((row) => row.name === name && isOwn(row))
    if (before === undefined) await change('POST', PATH, view)
    else await change('PATCH', `${PATH}/${before.id}`, view)
    reload()
  }
  const title = PAGES.find(({ path }) => path === page)?.title ?? 'this page'
  return (
    <Dialog title="Saved views" onClose={onClose}>
      <Form verb="Save this view" send={save}>
        <Field label={`Save ${title}, as it is now, as`} name="name" required maxLength={60} />
        <Check label="Others see it too" name="shared" />
      </Form>
      <KeptHere onKept={reload} />
      <Shown answer={list.answer} what="the views" placeholder={<div class="placeholder list-place" />}>
        {() =>
          list.rows.length === 0 ? (
            <p class="muted">None yet: yours, and those that others share, are listed here.</p>
          ) : (
            <Table label="Saved views" head={['view', '']}>
              {list.rows.map((view) => (
                <Row key={view.id} view={view} onOpen={onClose} onChange={(work) => void doing(work)} reload={reload} />
              ))}
            </Table>
          )
        }
      </Shown>
      <ShowMore more={list.more} />
      {outcome}
    </Dialog>
  )
}

const isOwn = ({ owner }: View): boolean => owner === currentTokens()?.userId

interface RowProps {
  readonly view: View
  readonly onOpen: () => void
  readonly onChange: (work: () => Promise<string>) => void
  readonly reload: () => void
}

function Row({ view, onOpen, onChange, reload }: RowProps) {
  const { id, name, page, query, shared, owner_name: owner } = view
  const mayChange = isOwn(view) || hasScope('admin:config')
  const turn = async (): Promise<string> => {
    await change('PATCH', `${PATH}/${id}`, { shared: !shared })
    reload()
    return shared ? `Only its owner sees ${name} now.` : `Others see ${name} now.`
  }
  const remove = async (): Promise<string> => {
    await change('DELETE', `${PATH}/${id}`)
    reload()
    return `Removed ${name}.`
  }
  return (
    <tr>
      <th scope="row">
        <a href={addressOf(page, new URLSearchParams(query))} onClick={onOpen}>
          <Name>{name}</Name>
        </a>
        <p class="muted">
          {PAGES.find(({ path }) => path === page)?.title ?? page}, {shared ? 'shared' : 'private'}, of{' '}
          {isOwn(view) ? 'you' : owner === null ? 'who was deleted' : <Name>{owner}</Name>}
        </p>
      </th>
      <td>
        {mayChange && (
          <>
            <button
              type="button"
              class="quiet"
              aria-label={`${shared ? 'Unshare' : 'Share'} ${name}`}
              onClick={() => onChange(turn)}
            >
              {shared ? 'Unshare' : 'Share'}
            </button>
            <button type="button" class="quiet" aria-label={`Remove ${name}`} onClick={() => onChange(remove)}>
              Remove
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

/** Where earlier versions kept views: names, and queries of the explorer. */
const KEY = 'attribution.views'

function inBrowser(): readonly (readonly [name: string, query: string])[] {
  try {
    return Object.entries(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Readonly<Record<string, string>>)
  } catch {
    return []
  }
}

/** Keeps a view at the service. @returns why the service does not take it as it is */
async function refusalOf([name, query]: readonly [name: string, query: string]): Promise<string | undefined> {
  try {
    const view = { name, page: 'explorer', query: new URLSearchParams(query).toString(), shared: false }
    await change('POST', PATH, view)
    return undefined
  } catch (cause) {
    if (cause instanceof ApiProblem && (cause.status === 400 || cause.status === 422)) return cause.message
    throw cause
  }
}

/** Offers to keep the views that an earlier version left in this browser. */
function KeptHere({ onKept }: { readonly onKept: () => void }) {
  const [views, setViews] = useState(inBrowser)
  const [reason, setReason] = useState('')
  if (views.length === 0) return null
  const keep = async (): Promise<void> => {
    const left = [...inBrowser()]
    const refused: (typeof left)[number][] = []
    let last = ''
    // One by one, so that a second attempt keeps none twice.
    for (let view = left.shift(); view !== undefined; view = left.shift()) {
      const refusal = await refusalOf(view)
      if (refusal !== undefined) {
        refused.push(view)
        last = refusal
      }
      localStorage.setItem(KEY, JSON.stringify(Object.fromEntries([...refused, ...left])))
    }
    if (refused.length === 0) localStorage.removeItem(KEY)
    setViews(refused)
    setReason(last)
    onKept()
  }
  const forget = async (): Promise<void> => {
    localStorage.removeItem(KEY)
    setViews([])
  }
  if (reason !== '') {
    return (
      <Form verb="Forget them" send={forget} isOneOfSeveral>
        <p class="notice" role="status">
          The service does not take {views.map(([name]) => name).join(', ')}: {reason} In this browser they still are.
        </p>
      </Form>
    )
  }
  return (
    <Form verb="Keep them" send={keep} isOneOfSeveral>
      <p class="notice">
        {views.length === 1 ? 'One view is' : `${views.length} views are`} only in this browser:{' '}
        {views.map(([name]) => name).join(', ')}. Keep them at the service, and you have them everywhere.
      </p>
    </Form>
  )
}
