import { useState } from 'preact/hooks'
import { BILLED_UNITS } from '../../../../text/call-words.js'
import { dayTextOf, startOfDayText } from '../../../figures/days.js'
import { callsShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { applyPrices, type Job } from '../../answers/answer.js'
import { useTwoChanges } from '../../parts/change.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'

/** What a price is for. */
export interface Priced {
  readonly provider: string
  readonly model: string
}

interface AddPriceProps {
  readonly priced: Priced
  readonly zone: string
  readonly onClose: () => void
  readonly onAdded: () => void
}

const RATE = { inputMode: 'decimal', pattern: '\\d{1,9}(\\.\\d{1,12})?', maxLength: 22 } as const

/** What is billed besides tokens. */
const UNITS = { '': '', ...Object.fromEntries(BILLED_UNITS.map((unit) => [unit, wordOf(unit)])) }

export function AddPrice({ priced, zone, onClose, onAdded }: AddPriceProps) {
  const [job, setJob] = useState<Job | undefined>()
  const twoChanges = useTwoChanges()
  const send = async (fields: FormData): Promise<void> => {
    const day = (name: string): string | undefined => startOfDayText(textOf(fields, name) ?? '', zone)
    const rate = (name: string) => ({ [name]: textOf(fields, name) })
    const unit = textOf(fields, 'unit')
    const each = textOf(fields, 'usd_per_unit')
    const price = {
      provider: textOf(fields, 'provider'),
      model: textOf(fields, 'model'),
      region: textOf(fields, 'region'),
      valid_from: day('from'),
      valid_to: day('to'),
      usd_per_million: {
        ...rate('input_tokens'),
        ...rate('output_tokens'),
        ...rate('cache_read_tokens'),
        ...rate('cache_write_tokens'),
      },
      ...(unit !== undefined && each !== undefined && { usd_per_unit: { [unit]: each } }),
    }
    await twoChanges(['POST', '/api/v1/prices', price], async () => {
      onAdded()
      const from = day('from')
      if (!fields.has('past') || from === undefined) return
      await applyPrices({ fromMs: Date.parse(from), toMs: Number.MAX_SAFE_INTEGER }, setJob)
      onAdded()
    })
  }
  return (
    <FormDialog title="A price of your own" verb="Add the price" onClose={onClose} send={send}>
      <div class="pair">
        <Field label="Provider" name="provider" required defaultValue={priced.provider} placeholder="openai" />
        <Field label="Model" name="model" required defaultValue={priced.model} placeholder="gpt-4o" />
        <Field label="From" name="from" type="date" required defaultValue={dayTextOf(Date.now(), zone)} />
        <Field label="Until" hint="(not included)" name="to" type="date" />
        <Field label="Input" hint="USD per 1 M tokens" name="input_tokens" required {...RATE} />
        <Field label="Output" hint="USD per 1 M tokens" name="output_tokens" required {...RATE} />
        <Field label="Cached input" hint="USD per 1 M" name="cache_read_tokens" {...RATE} />
        <Field label="Cache writes" hint="USD per 1 M" name="cache_write_tokens" {...RATE} />
        <Choice label="Another unit" hint="(none)" name="unit" choices={UNITS} />
        <Field label="Per unit" hint="USD each" name="usd_per_unit" {...RATE} />
        <Field label="Region" hint="(all)" name="region" placeholder="eu-central-1" />
      </div>
      <Check
        label="Price the calls since then that have no price"
        hint="(cannot be taken back)"
        name="past"
        defaultChecked
      />
      {job !== undefined && <p role="status">Priced so far: {callsShown(job.records)}</p>}
      <p class="muted">
        It holds for calls of this time. Kinds of tokens without a rate have no price. Tiers, thresholds and fees of
        tools: over the API. A model that is billed by another unit only has an input and output of 0.
      </p>
    </FormDialog>
  )
}
