import type { Pool } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { callsShown, countShown, usdShown } from '../../../figures/shown.js'
import { DEFAULT_POOL } from '../../../figures/usage.js'
import { shownPeriod } from '../../address/period.js'
import { useAnswer } from '../../api/use-answer.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { SmallGroups } from '../../parts/small-groups.js'
import { type Actors, useActors } from '../../parts/who.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { PoolForm } from './form.js'
import { readPools } from './load.js'
import { POOLS_PATH, ruleShown } from './pool.js'
import { SpreadSection } from './spread.js'

const HEAD = ['pool', '#cost USD', '#calls', 'owner', 'takes calls of', '#priority', '']

type Open = { readonly what: 'add' } | { readonly what: 'change' | 'remove'; readonly pool: Pool }

/** Where the cost of calls is kept that nothing could attribute, and over whom reports spread it. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const list = useList<Pool>(POOLS_PATH)
  const figures = useAnswer(hasScope('read:reporting') ? JSON.stringify([period, zone]) : '', (signal) =>
    readPools(period, zone, signal),
  )
  const actors = useActors()
  const [open, setOpen] = useState<Open | undefined>()
  const close = (): void => setOpen(undefined)
  const row = (name: string) => figures.value?.pools?.find((each) => !each.folded && each.pool === name)
  const rest = row(DEFAULT_POOL)
  const together = figures.value?.pools?.find(({ folded }) => folded)
  return (
    <>
      <ListSection
        title="Pools"
        what="the pools"
        about={
          'A pool says where a cost is kept that nothing could attribute, not who caused it: it is not charged back. ' +
          `Costs are of ${period.label}.`
        }
        actions={
          <button type="button" onClick={() => setOpen({ what: 'add' })}>
            Add a pool
          </button>
        }
        list={list}
        head={HEAD}
        empty="None yet."
        row={(pool) => (
          <Row
            key={pool.id}
            pool={pool}
            of={row(pool.name)}
            actors={actors}
            params={params}
            onOpen={(what) => setOpen({ what, pool })}
          />
        )}
      >
        {together !== undefined && (
          <p>
            Pools without figures of their own are <SmallGroups groups={together.groups} />:{' '}
            {callsShown(together.calls)}, USD {usdShown(together.cost_usd)}.
          </p>
        )}
        <p>
          What no pool takes is in <strong>{DEFAULT_POOL}</strong>
          {rest !== undefined && `: ${callsShown(rest.calls)}, USD ${usdShown(rest.cost_usd)}`}.
        </p>
      </ListSection>
      {hasScope('read:reporting') && <SpreadSection answer={figures} zone={zone} />}
      {open?.what === 'remove' && (
        <FormDialog
          title={`Remove ${open.pool.name}`}
          verb="Remove the pool"
          onClose={close}
          send={async () => {
            await change('DELETE', `${POOLS_PATH}/${open.pool.id}`)
            list.answer.reload()
          }}
        >
          <p>
            Records that are in it stay in it. Calls to come go to the next pool that takes them, else to {DEFAULT_POOL}
            .
          </p>
        </FormDialog>
      )}
      {(open?.what === 'add' || open?.what === 'change') && (
        <PoolForm
          pool={open.what === 'add' ? undefined : open.pool}
          actors={actors}
          onClose={close}
          onSaved={list.answer.reload}
        />
      )}
    </>
  )
}

interface RowProps {
  readonly pool: Pool
  /** Its calls of the period; undefined: none, too few people, or not known. */
  readonly of: { readonly cost_usd: string; readonly calls: number } | undefined
  readonly actors: Actors
  readonly params: URLSearchParams
  readonly onOpen: (what: 'change' | 'remove') => void
}

const Row = ({ pool, of, actors, params, onOpen }: RowProps) => (
  <tr>
    <th scope="row">
      {hasScope('read:attribution') ? (
        <a href={linkTo('explorer', params, { 'filter[pool][eq]': pool.name })}>
          <Name>{pool.name}</Name>
        </a>
      ) : (
        <Name>{pool.name}</Name>
      )}
    </th>
    <td class="number">{of === undefined ? '–' : usdShown(of.cost_usd)}</td>
    <td class="number">{of === undefined ? '–' : countShown(of.calls)}</td>
    <td>
      <Name>{pool.owner}</Name>
    </td>
    <td class="wide">{pool.rules.map((rule) => ruleShown(rule, actors)).join('; or ')}</td>
    <td class="number">{pool.priority}</td>
    <td>
      <button type="button" class="quiet" onClick={() => onOpen('change')}>
        Change
      </button>
      <button type="button" class="quiet" onClick={() => onOpen('remove')}>
        Remove
      </button>
    </td>
  </tr>
)
