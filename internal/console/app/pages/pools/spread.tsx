import { intervalLabel } from '../../../figures/period.js'
import { decimalShown, decimalsOf, shareShown, usdShown } from '../../../figures/shown.js'
import type { Spread } from '../../../figures/spread.js'
import type { Answer } from '../../api/use-answer.js'
import { Instant } from '../../parts/instant.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'
import { Table } from '../../parts/table.js'
import type { PoolFigures } from './load.js'

/** What an allocated report does with the pools of the period: weights, and what each service is given. */
export const SpreadSection = ({ answer, zone }: { readonly answer: Answer<PoolFigures>; readonly zone: string }) => (
  <section class="list" aria-label="Spreading">
    <header>
      <h2>What a report spreads</h2>
      <p class="muted">
        Reports with <code>allocate=true</code> spread pools over services by their shares of what was attributed with
        certainty in the thirty days before. Records and exports stay as they are.
      </p>
    </header>
    <Shown answer={answer} what="what was spread" placeholder={<div class="placeholder list-place" />}>
      {({ spread, weights }) =>
        spread === null ? (
          <p>Too few people are behind the calls in pools: they are not shown apart.</p>
        ) : (
          <>
            <p>
              <span class="strong">USD {usdShown(spread.inPools)} in pools</span>: USD {usdShown(spread.spread)} is
              spread, USD {usdShown(spread.notSpread)} stays with the pools.
            </p>
            <p class="muted">
              {weights.map(({ from, asOf }, at) => (
                <span key={from}>
                  {at > 0 && '; '}
                  {intervalLabel(Date.parse(from), 'month', zone)}:{' '}
                  {asOf === null ? (
                    'no weights, so that nothing is spread'
                  ) : (
                    <>
                      weights as of <Instant ms={Date.parse(asOf)} zone={zone} />
                    </>
                  )}
                </span>
              ))}
            </p>
            {spread.lines.length > 0 && <Lines spread={spread} />}
          </>
        )
      }
    </Shown>
  </section>
)

function Lines({ spread: { lines, rest, spread } }: { readonly spread: Spread }) {
  const decimals = decimalsOf([spread])
  return (
    <Table label="What each service is given" head={['service', '#is given USD', '#weight']}>
      {lines.map(({ service, usd, share }) => (
        <tr key={service}>
          <th scope="row">
            <Name>{service}</Name>
          </th>
          <td class="number">{decimalShown(usd, decimals)}</td>
          <td class="number">{shareShown(share)}</td>
        </tr>
      ))}
      {!/^[-0.]*$/.test(rest) && (
        <tr class="apart">
          <th scope="row">small groups and others</th>
          <td class="number">{decimalShown(rest, decimals)}</td>
          <td class="number" />
        </tr>
      )}
      <tr>
        <th scope="row">in all</th>
        <td class="number">{decimalShown(spread, decimals)}</td>
        <td class="number" />
      </tr>
    </Table>
  )
}
