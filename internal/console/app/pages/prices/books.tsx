import type { Books as BooksInForce } from 'attribution-service/sdk/api'
import { countShown, usdShown } from '../../../figures/shown.js'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { Id } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'

const PATH = '/api/v1/prices/books'
/** Doctor and the alert warn from this age on. */
const AGE_DAYS_MAX = 45

/** How old the books are by which the instance values calls, and what a proposed one would price. */
export function Books() {
  const answer = useAnswer(hasScope('read:reporting') ? PATH : '', (signal) => ask<BooksInForce>(PATH, { signal }))
  if (!hasScope('read:reporting')) return null
  return (
    <section class="list" aria-label="Age of the books">
      <header>
        <h2>Age of the books</h2>
        <p class="muted">Providers change their prices every few weeks; a book is old after {AGE_DAYS_MAX} days.</p>
      </header>
      <Shown answer={answer} what="the age of the books" placeholder={<div class="placeholder" />}>
        {({ prices, energy, proposal }) => (
          <>
            <Table label="Books in force" head={['book', 'as of', '#age', 'version']}>
              <Row name="Price book" book={prices} />
              <Row name="Energy table" book={energy} />
            </Table>
            {proposal !== null && <Proposed proposal={proposal} />}
          </>
        )}
      </Shown>
    </section>
  )
}

function Row({ name, book }: { readonly name: string; readonly book: BooksInForce['prices'] }) {
  const { as_of: asOf, age_days: days, id } = book
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{asOf}</td>
      <td class="number">
        {countShown(days)} {days === 1 ? 'day' : 'days'}
        {days >= AGE_DAYS_MAX && <strong> (old)</strong>}
      </td>
      <td>{id === null ? 'of the release' : <Id>{id}</Id>}</td>
    </tr>
  )
}

function Proposed({ proposal }: { readonly proposal: NonNullable<BooksInForce['proposal']> }) {
  const { id, as_of: asOf, newly_priced: priced } = proposal
  return (
    <p>
      A price book of <span class="strong">{asOf}</span> is proposed (<Id>{id}</Id>).{' '}
      {priced === null
        ? 'How many of your unpriced calls it has a price for is not shown: they are of too few people.'
        : `It has a price for ${countShown(priced.calls)} of your unpriced calls of the 30 days before, USD ${usdShown(priced.cost_usd)} at list.`}
    </p>
  )
}
