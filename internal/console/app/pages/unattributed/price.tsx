import { useState } from 'preact/hooks'
import { costOfTokens } from '../../../figures/prices.js'
import { callsShown, usdShown } from '../../../figures/shown.js'
import { applyPrices, type Job } from '../../answers/answer.js'
import { useTwoChanges } from '../../parts/change.js'
import { Form } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { hasScope } from '../../session/session.js'
import type { Of } from './parts.js'

/** A model without a price: its calls of the period get one, too. */
export function Unpriced({ item, period, onMoving }: Of<'price'>) {
  const [rates, setRates] = useState<readonly [string, string]>(['', ''])
  const [job, setJob] = useState<Job | undefined>()
  const twoChanges = useTwoChanges()
  const cost = costOfTokens(item.tokens, rates)
  const send = async (): Promise<void> => {
    const [input, output] = rates
    const price = {
      provider: item.provider,
      model: item.model,
      usd_per_million: { input_tokens: input, output_tokens: output },
      valid_from: new Date(period.fromMs).toISOString(),
    }
    await twoChanges(['POST', '/api/v1/prices', price], () => applyPrices(period, setJob))
    onMoving(true)
  }
  return (
    <>
      <h3>
        <Name>{item.model}</Name> of <Name>{item.provider}</Name>
      </h3>
      <p>
        <span class="strong">{callsShown(item.calls)}</span> without a price. Neither the price book nor your own prices
        have the model.
      </p>
      {hasScope('admin:config') && (job === undefined || job.status === 'running') && (
        <Form verb={`Set the price for ${period.label} and later`} send={send}>
          {(['input', 'output'] as const).map((side, at) => (
            <label key={side}>
              <span>USD per million {side} tokens</span>
              <input
                required
                inputMode="decimal"
                pattern="\d{1,9}(\.\d{1,12})?"
                maxLength={22}
                placeholder="2.50"
                value={rates[at]}
                onInput={({ currentTarget: { value } }) => setRates(at === 0 ? [value, rates[1]] : [rates[0], value])}
              />
            </label>
          ))}
          <p class="muted">
            {cost !== undefined && (
              <>
                <span class="strong">About USD {usdShown(cost)}</span> are added to the calls of {period.label}.{' '}
              </>
            )}
            Other calls of the period without a price get one too, where there is one now. This cannot be taken back.
          </p>
        </Form>
      )}
      {job !== undefined && (
        <p role="status">
          {job.status === 'running' ? 'Pricing: so far ' : ''}
          <span class="strong">{callsShown(job.records)}</span> have got what was missing:{' '}
          <span class="strong">USD {usdShown(job.cost_usd)}</span>. Later calls have the price by themselves.
        </p>
      )}
    </>
  )
}
