import { SCOPE_WORDS } from '../../../figures/words.js'
import { Check, Choice } from '../../parts/field.js'
import { PAYER_WORDS, SCOPES } from './credential.js'

interface ScopesProps {
  readonly chosen?: readonly string[]
  /** Those that can be chosen; default: all. */
  readonly from?: readonly string[]
}

/** What a credential may do. */
export const Scopes = ({ chosen = [], from = SCOPES }: ScopesProps) => (
  <fieldset>
    <legend>May read or change</legend>
    {SCOPES.filter((scope) => from.includes(scope)).map((scope) => (
      <Check
        key={scope}
        label={scope}
        hint={SCOPE_WORDS[scope]}
        name="scopes"
        value={scope}
        defaultChecked={chosen.includes(scope)}
      />
    ))}
  </fieldset>
)

interface SenderProps {
  readonly isGateway?: boolean
  readonly trustsCost?: boolean
  readonly billing?: keyof typeof PAYER_WORDS
}

/** How far a credential that sends calls is believed. */
export const Trusts = ({ isGateway = false, trustsCost = true, billing = 'auto' }: SenderProps) => (
  <>
    <Check
      label="A gateway or proxy holds it"
      hint="(what it says about who called is believed)"
      name="is_gateway"
      defaultChecked={isGateway}
    />
    <Check
      label="Costs that it states count"
      hint="(else they are shown beside the price)"
      name="trusts_cost"
      defaultChecked={trustsCost}
    />
    <Choice
      label="Its calls are paid by"
      hint="(where OpenTelemetry of coding agents does not say it)"
      name="billing"
      defaultValue={billing}
      choices={PAYER_WORDS}
    />
  </>
)

export const trustsOf = (fields: FormData) => ({
  is_gateway: fields.has('is_gateway'),
  trusts_cost: fields.has('trusts_cost'),
  billing: fields.get('billing'),
})
