import type { AttributionRecord } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { shownPeriod } from '../../address/period.js'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { useList } from '../../api/use-list.js'
import { Id } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { AddPrice, type Priced } from './add-price.js'
import { Books } from './books.js'
import { OwnPrices, type Price } from './own-prices.js'
import { Unpriced } from './unpriced.js'

/** Where the cost of a call comes from: the tenant's own prices, the book, and what has neither. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const prices = useList<Price>('/api/v1/prices')
  const [adding, setAdding] = useState<Priced | undefined>()
  return (
    <>
      <Unpriced period={period} onPrice={setAdding} />
      <OwnPrices prices={prices} zone={zone} onAdd={() => setAdding({ provider: '', model: '' })} />
      <Books />
      <Book />
      {adding !== undefined && (
        <AddPrice
          priced={adding}
          zone={zone}
          onClose={() => setAdding(undefined)}
          onAdded={() => prices.answer.reload()}
        />
      )}
    </>
  )
}

type Listed = { readonly data: readonly Pick<AttributionRecord, 'id' | 'cost_basis'>[] }
interface Explained {
  readonly id: string
  readonly explanation: {
    readonly cost: { readonly details: { readonly book_as_of?: string; readonly book_id?: string } }
  }
}

/** The book that priced the newest call, as the call's own explanation names it. */
async function readBook(signal: AbortSignal) {
  const { data } = await ask<Listed>('/v1/attribution?limit=200&sort=-event_time', { signal })
  const priced = data.find(({ cost_basis: basis }) => basis === 'price_book')
  if (priced === undefined) return null
  const { id, explanation } = await ask<Explained>(`/v1/attribution/${priced.id}`, { signal })
  return { id, ...explanation.cost.details }
}

function Book() {
  const answer = useAnswer(hasScope('read:attribution') ? 'book' : '', readBook)
  return (
    <section class="list" aria-label="Price book">
      <header>
        <h2>The price book in use</h2>
      </header>
      <Shown answer={answer} what="the price book" placeholder={<div class="placeholder" />}>
        {(book) =>
          book?.book_as_of === undefined ? (
            <p>None of the newest calls has its price from the book.</p>
          ) : (
            <p>
              The newest call priced by it has the book of <span class="strong">{book.book_as_of}</span>
              {book.book_id !== undefined && (
                <>
                  , version <Id>{book.book_id}</Id>
                </>
              )}
              . <a href={linkTo('explorer', new URLSearchParams(), { record: book.id })}>Open the call</a>
            </p>
          )
        }
      </Shown>
      <p class="muted">
        The book belongs to the whole instance: its operator takes a newer one. A proposal prices no call, and shows
        what the calls of the last 30 days would cost with it:
      </p>
      <pre class="block">npx attribution prices propose --genai-prices data.json --data-dir .data</pre>
    </section>
  )
}
