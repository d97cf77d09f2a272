import { useState } from 'preact/hooks'
import { shownPeriod } from '../../address/period.js'
import { useList } from '../../api/use-list.js'
import type { PageProps } from '../page-props.js'
import { AddPrice, type Priced } from './add-price.js'
import { Book } from './book.js'
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
