import type { Pool } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { useNames } from '../../api/use-names.js'
import { change } from '../../parts/change.js'
import { Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import type { Actors } from '../../parts/who.js'
import { CONDITIONS, POOLS_PATH, type Rule } from './pool.js'

interface PoolFormProps {
  /** Undefined: a new one. */
  readonly pool: Pool | undefined
  readonly actors: Actors
  readonly onClose: () => void
  readonly onSaved: () => void
}

const RULES_MAX = 64

/** A pool that is new, or changed: its name stays, since records have it. */
export function PoolForm({ pool, actors, onClose, onSaved }: PoolFormProps) {
  const [rules, setRules] = useState<readonly Rule[]>(pool?.rules ?? [{}])
  const send = async (fields: FormData): Promise<void> => {
    const stated = rules.filter((rule) => Object.values(rule).some((value) => value !== undefined))
    if (stated.length === 0) throw new Error('State at least one condition: a provider, a layer or a credential.')
    const priority = textOf(fields, 'priority')
    const body = {
      owner: textOf(fields, 'owner'),
      rules: stated,
      ...(priority !== undefined && { priority: Number(priority) }),
    }
    if (pool === undefined) await change('POST', POOLS_PATH, { name: textOf(fields, 'name'), ...body })
    else await change('PATCH', `${POOLS_PATH}/${pool.id}`, body)
    onSaved()
  }
  const set = (at: number, changed: Rule): void => setRules(rules.map((each, which) => (which === at ? changed : each)))
  return (
    <FormDialog
      title={pool === undefined ? 'A new pool' : `Change ${pool.name}`}
      verb={pool === undefined ? 'Add the pool' : 'Change the pool'}
      onClose={onClose}
      send={send}
    >
      {pool === undefined && <Field label="Name" name="name" required placeholder="shared-bedrock" />}
      <div class="pair">
        <Field label="Owner" hint="(team or cost centre)" name="owner" required defaultValue={pool?.owner} />
        <Field
          label="Priority"
          hint="(the lowest wins)"
          name="priority"
          inputMode="numeric"
          pattern="\d{1,4}"
          defaultValue={String(pool?.priority ?? 100)}
        />
      </div>
      <fieldset>
        <legend>
          Takes calls that nothing else could attribute, with <span class="muted">(empty: any)</span>
        </legend>
        {rules.map((rule, at) => (
          <RuleFields
            key={at}
            rule={rule}
            actors={actors}
            onChange={(changed) => set(at, changed)}
            onRemove={rules.length === 1 ? undefined : () => setRules(rules.filter((_, which) => which !== at))}
          />
        ))}
        {rules.length < RULES_MAX && (
          <p>
            <button type="button" class="quiet" onClick={() => setRules([...rules, {}])}>
              Or …
            </button>
          </p>
        )}
      </fieldset>
      <p class="muted">It holds for calls that are attributed from now on. Existing records stay as they are.</p>
    </FormDialog>
  )
}

interface RuleFieldsProps {
  readonly rule: Rule
  readonly actors: Actors
  readonly onChange: (rule: Rule) => void
  readonly onRemove: (() => void) | undefined
}

const SENDS = /^(key|cli)_/

function RuleFields({ rule, actors, onChange, onRemove }: RuleFieldsProps) {
  const set =
    (name: keyof Rule) =>
    ({ currentTarget: { value } }: { readonly currentTarget: { readonly value: string } }): void =>
      onChange({ ...rule, [name]: value.trim() === '' ? undefined : value.trim() })
  const senders = [...actors].filter(([id]) => SENDS.test(id))
  const sender = rule.principal_id
  return (
    <div class="pair">
      {(['provider', 'ingestion_layer'] as const).map((name) => (
        <Named key={name} name={name} value={rule[name] ?? ''} onInput={set(name)} />
      ))}
      <label>
        <span>{CONDITIONS.principal_id}</span>
        <select value={sender ?? ''} onChange={set('principal_id')}>
          <option value="">any</option>
          {sender !== undefined && !actors.has(sender) && <option value={sender}>{sender}</option>}
          {senders.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {onRemove !== undefined && (
        <button type="button" class="quiet" onClick={onRemove}>
          Remove
        </button>
      )}
    </div>
  )
}

interface NamedProps {
  readonly name: 'provider' | 'ingestion_layer'
  readonly value: string
  readonly onInput: (event: { readonly currentTarget: { readonly value: string } }) => void
}

function Named({ name, value, onInput }: NamedProps) {
  const names = useNames(name)
  const id = `pool-${name}`
  return (
    <label>
      <span>{CONDITIONS[name]}</span>
      <input value={value} placeholder="any" maxLength={256} list={id} onInput={onInput} />
      <datalist id={id}>
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  )
}
