import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { count, decimalText, timeText } from '../../text/answer-fields.js'

/** The contract of the books by which calls are valued. */

/** Price books that an answer lists. */
export const CHANGES_MAX = 100

const day = () => z.string().regex(/^\d{4}-\d{2}-\d{2}$/)

const inForce = z
  .object({
    as_of: day().meta({ description: 'The day that the book describes.' }),
    age_days: count().meta({ description: 'Since that day.' }),
    id: z.string().nullable().meta({ description: 'Of an imported book; null: the one of the release.' }),
    effective_from: timeText().nullable().meta({ description: 'Calls since this instant are valued by it.' }),
  })
  .meta({ id: 'BookInForce' })

const proposed = z
  .object({
    id: z.string(),
    as_of: day(),
    proposed_at: timeText(),
    newly_priced: z
      .object({ calls: count(), cost_usd: decimalText() })
      .nullable()
      .meta({
        description:
          'Unpriced calls of the 30 days before the proposal that it has a price for, in dollars at list. Null where ' +
          'they are of fewer people than `min_cohort`, or where the figure is not known.',
      }),
  })
  .meta({ id: 'ProposedPriceBook' })

const change = z
  .object({ id: z.string(), as_of: day(), effective_from: timeText() })
  .meta({ id: 'PriceBookChange', description: 'An imported price book: calls since this instant are valued by it.' })

const IN_FORCE = {
  as_of: '2026-11-28',
  age_days: 12,
  id: 'book_4f1d0c2b9a7e6d5c3b2a1908',
  effective_from: '2026-11-29T00:00:00.000Z',
}

export const GET_BOOKS: Operation = {
  id: 'getBooks',
  tag: 'Prices',
  summary: 'Get the age of the price book and of the energy table in force',
  description:
    'Both belong to the whole instance: its operator takes newer ones with `attribution prices propose` and ' +
    '`attribution energy propose`. The newest proposal of a price book that was made from the one in force is shown ' +
    'until it is accepted.',
  replies: {
    200: {
      description: 'The books in force, and a price book that is proposed.',
      contents: json(
        z
          .object({
            prices: inForce,
            energy: inForce,
            proposal: proposed.nullable(),
            price_changes: z.array(change).meta({
              description: `Price books that were imported and not undone, the latest first, at most ${CHANGES_MAX}.`,
            }),
          })
          .meta({ id: 'Books' }),
        {
          prices: IN_FORCE,
          energy: { as_of: '2026-11-29', age_days: 11, id: null, effective_from: null },
          proposal: {
            id: 'proposal_0b1c2d3e4f5a697887766554',
            as_of: '2026-12-09',
            proposed_at: '2026-12-10T08:00:00.000Z',
            newly_priced: { calls: 311, cost_usd: '41.2' },
          },
          price_changes: [{ id: IN_FORCE.id, as_of: IN_FORCE.as_of, effective_from: IN_FORCE.effective_from }],
        },
      ),
    },
  },
}
