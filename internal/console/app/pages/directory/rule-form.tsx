import { useState } from 'preact/hooks'
import { Moves } from '../../answers/moves.js'
import {
  type Condition,
  isOver,
  jobPath,
  MATCHES,
  RULE_FIELDS,
  RULES_PATH,
  type Rule,
  type RuleJob,
} from '../../answers/rule.js'
import { change, followed, useTwoChanges } from '../../parts/change.js'
import { Dialog } from '../../parts/dialog.js'
import { Field } from '../../parts/field.js'
import { Form, textOf } from '../../parts/form.js'
import { useDoing } from '../../parts/use-doing.js'

interface RuleFormProps {
  /** Undefined: a new one. */
  readonly rule: Rule | undefined
  readonly onClose: () => void
  readonly onSaved: () => void
}

const CONDITIONS_MAX = 8
const FIRST: Condition = { field: 'user_agent', match: 'prefix', value: '' }
const DAYS = 30
const DAY_MS = 24 * 60 * 60 * 1_000

/** A rule is tried on the calls of the last days before it is saved. */
export function RuleForm({ rule, onClose, onSaved }: RuleFormProps) {
  const [when, setWhen] = useState<readonly Condition[]>(rule?.when ?? [FIRST])
  const [stated, setStated] = useState<object | undefined>()
  const [job, setJob] = useState<RuleJob | undefined>()
  const [isOfPast, setOfPast] = useState(true)
  const { doing, outcome, isBusy } = useDoing()
  const twoChanges = useTwoChanges()
  const look = async (fields: FormData): Promise<void> => {
    const body = bodyOf(fields, when, rule)
    const first = await change<RuleJob>('POST', `${RULES_PATH}/dry-run`, {
      days: DAYS,
      rule: { name: rule?.name ?? textOf(fields, 'name'), ...body },
      ...(rule !== undefined && { replaces: rule.id }),
    })
    setStated(rule === undefined ? { name: textOf(fields, 'name'), ...body } : body)
    await followed(first, isOver, jobPath(first), setJob)
  }
  const save = () =>
    doing(() =>
      twoChanges(
        rule === undefined ? ['POST', RULES_PATH, stated] : ['PATCH', `${RULES_PATH}/${rule.id}`, stated],
        async (saved: Rule) => {
          onSaved()
          if (!isOfPast) {
            onClose()
            return ''
          }
          const from = new Date(Date.now() - DAYS * DAY_MS).toISOString()
          const first = await change<RuleJob>('POST', `${RULES_PATH}/apply`, { from, rule: saved.id })
          await followed(first, isOver, jobPath(first), setJob)
          onSaved()
          return ''
        },
      ),
    )
  return (
    <Dialog title={rule === undefined ? 'A new mapping rule' : `Change ${rule.name}`} onClose={onClose}>
      <div hidden={stated !== undefined}>
        <Form verb="See what would change" send={look} onLeave={onClose}>
          {rule === undefined && <Field label="Name" name="name" required placeholder="claude-code" />}
          <Conditions when={when} onChange={setWhen} />
          <div class="pair">
            <Field
              label="Give such calls to"
              hint="(a service)"
              name="service"
              required
              defaultValue={rule?.set.service}
            />
            <Field label="Owner" hint="(else the service's)" name="owner" defaultValue={rule?.set.owner} />
            <Field
              label="Priority"
              hint="(the lowest wins)"
              name="priority"
              inputMode="numeric"
              pattern="\d{1,6}"
              defaultValue={String(rule?.priority ?? 100)}
            />
          </div>
        </Form>
      </div>
      {stated !== undefined && job !== undefined && (
        <>
          <p>In the calls of the last {DAYS} days:</p>
          <Moves job={job} />
          {job.dry_run && (
            <label class="check">
              <input
                type="checkbox"
                checked={isOfPast}
                onChange={({ currentTarget }) => setOfPast(currentTarget.checked)}
              />
              <span>Move these calls too, not only those to come</span>
            </label>
          )}
          {outcome}
          <p class="actions">
            {job.dry_run ? (
              <>
                <button type="button" class="primary" disabled={isBusy || !isOver(job)} onClick={() => void save()}>
                  Save the rule
                </button>
                <button type="button" disabled={isBusy} onClick={() => setStated(undefined)}>
                  Change it
                </button>
              </>
            ) : (
              <button type="button" class="primary" onClick={onClose}>
                Close
              </button>
            )}
          </p>
        </>
      )}
    </Dialog>
  )
}

/** What the form does not have of a rule (its time, and tags that it sets) stays. */
function bodyOf(fields: FormData, when: readonly Condition[], rule: Rule | undefined): object {
  const owner = textOf(fields, 'owner')
  return {
    when: when.map(({ key, ...condition }) => (condition.field === 'tag' ? { ...condition, key } : condition)),
    set: {
      service: textOf(fields, 'service'),
      ...(owner !== undefined && { owner }),
      ...(rule?.set.tags !== undefined && { tags: rule.set.tags }),
    },
    ...(textOf(fields, 'priority') !== undefined && { priority: Number(textOf(fields, 'priority')) }),
  }
}

interface ConditionsProps {
  readonly when: readonly Condition[]
  readonly onChange: (when: readonly Condition[]) => void
}

function Conditions({ when, onChange }: ConditionsProps) {
  const set = (at: number, changed: Partial<Condition>): void =>
    onChange(when.map((each, which) => (which === at ? { ...each, ...changed } : each)))
  return (
    <fieldset>
      <legend>Calls of which all of this is true</legend>
      {when.map((condition, at) => (
        <div key={at} class="filters">
          <Pick
            label="Field"
            value={condition.field}
            choices={RULE_FIELDS}
            onPick={(field) => set(at, { field: field as Condition['field'] })}
          />
          {condition.field === 'tag' && (
            <Text label="Tag" value={condition.key ?? ''} onText={(key) => set(at, { key })} />
          )}
          <Pick
            label="Comparison"
            value={condition.match}
            choices={MATCHES}
            onPick={(match) => set(at, { match: match as Condition['match'] })}
          />
          <Text label="Value" value={condition.value} onText={(value) => set(at, { value })} />
          {when.length > 1 && (
            <button type="button" class="quiet" onClick={() => onChange(when.filter((_, which) => which !== at))}>
              Remove
            </button>
          )}
        </div>
      ))}
      {when.length < CONDITIONS_MAX && (
        <p>
          <button type="button" class="quiet" onClick={() => onChange([...when, FIRST])}>
            And …
          </button>
        </p>
      )}
    </fieldset>
  )
}

interface PickProps {
  readonly label: string
  readonly value: string
  readonly choices: Readonly<Record<string, string>>
  readonly onPick: (value: string) => void
}

const Pick = ({ label, value, choices, onPick }: PickProps) => (
  <label>
    <span class="hidden">{label}</span>
    <select value={value} onChange={({ currentTarget }) => onPick(currentTarget.value)}>
      {Object.entries(choices).map(([each, words]) => (
        <option key={each} value={each}>
          {words}
        </option>
      ))}
    </select>
  </label>
)

interface TextProps {
  readonly label: string
  readonly value: string
  readonly onText: (text: string) => void
}

const Text = ({ label, value, onText }: TextProps) => (
  <label>
    <span class="hidden">{label}</span>
    <input value={value} required maxLength={256} onInput={({ currentTarget }) => onText(currentTarget.value)} />
  </label>
)
