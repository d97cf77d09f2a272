import { useState } from 'preact/hooks'
import { dayTextOf, startOfDayText } from '../../../figures/days.js'
import { Moves } from '../../answers/moves.js'
import { conditionWords, isOver, jobPath, RULES_PATH, type Rule, type RuleJob } from '../../answers/rule.js'
import { useList } from '../../api/use-list.js'
import { change, followed } from '../../parts/change.js'
import { Does } from '../../parts/does.js'
import { Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { RuleForm } from './rule-form.js'

const HEAD = ['rule', 'calls of which', 'go to', '#priority', 'made', '']
const MONTH_MS = 30 * 24 * 60 * 60 * 1_000

type Open = { readonly what: 'add' } | { readonly what: 'change' | 'remove' | 'apply'; readonly rule: Rule }

/** To which service calls belong that name none which the directory knows. */
export function Rules({ zone }: { readonly zone: string }) {
  const list = useList<Rule>(RULES_PATH)
  const [open, setOpen] = useState<Open | undefined>()
  const [applied, setApplied] = useState<RuleJob | undefined>()
  const close = (): void => setOpen(undefined)
  const remove = (rule: Rule) => async (): Promise<void> => {
    await change('DELETE', `${RULES_PATH}/${rule.id}`)
    list.answer.reload()
  }
  const apply =
    (rule: Rule) =>
    async (fields: FormData): Promise<void> => {
      const from = startOfDayText(textOf(fields, 'from') ?? '', zone)
      const first = await change<RuleJob>('POST', `${RULES_PATH}/apply`, { from, rule: rule.id })
      setApplied(first)
      // It goes on when the dialog has closed.
      void followed(first, isOver, jobPath(first), setApplied)
    }
  return (
    <>
      <ListSection
        title="Mapping rules"
        what="the mapping rules"
        about={
          'To which service calls belong that name none which the directory knows. ' +
          'The first rule that matches decides.'
        }
        actions={
          <Does name="rule" onDo={() => setOpen({ what: 'add' })}>
            Add a rule
          </Does>
        }
        list={list}
        head={HEAD}
        empty={
          'None yet. A rule names the service of calls by the alias or team of their key, ' +
          'a namespace, user agent, identity, model or tag.'
        }
        row={(rule) => (
          <tr key={rule.id}>
            <th scope="row">
              <Name>{rule.name}</Name>
              {rule.version > 1 && <span class="muted"> version {rule.version}</span>}
            </th>
            <td class="wide">{rule.when.map(conditionWords).join(', and ')}</td>
            <td>
              <Name>{rule.set.service}</Name>
              {rule.set.owner !== undefined && (
                <>
                  {' '}
                  · <Name>{rule.set.owner}</Name>
                </>
              )}
            </td>
            <td class="number">{rule.priority}</td>
            <td>
              <Span rule={rule} zone={zone} />
            </td>
            <td>
              {(['change', 'apply', 'remove'] as const).map((what) => (
                <button key={what} type="button" class="quiet" onClick={() => setOpen({ what, rule })}>
                  {VERBS[what]}
                </button>
              ))}
            </td>
          </tr>
        )}
      >
        {applied !== undefined && <Moves job={applied} />}
      </ListSection>
      {(open?.what === 'add' || open?.what === 'change') && (
        <RuleForm rule={open.what === 'add' ? undefined : open.rule} onClose={close} onSaved={list.answer.reload} />
      )}
      {open?.what === 'remove' && (
        <FormDialog title={`Remove ${open.rule.name}`} verb="Remove the rule" onClose={close} send={remove(open.rule)}>
          <p>Calls of the past stay as they are.</p>
        </FormDialog>
      )}
      {open?.what === 'apply' && (
        <FormDialog
          title={`Apply ${open.rule.name} to the past`}
          verb="Apply it"
          onClose={close}
          send={apply(open.rule)}
        >
          <p>
            Calls that it decides differently get a new version, at the same cost. What people have overridden or
            disputed stays.
          </p>
          <Field
            label="To calls made since"
            name="from"
            type="date"
            required
            defaultValue={dayTextOf(Date.now() - MONTH_MS, zone)}
          />
        </FormDialog>
      )}
    </>
  )
}

const VERBS = { change: 'Change', apply: 'Apply to the past', remove: 'Remove' } as const

function Span({ rule: { from, to }, zone }: { readonly rule: Rule; readonly zone: string }) {
  if (from === null && to === null) return <>at any time</>
  return (
    <>
      {from !== null && (
        <>
          from <Instant ms={Date.parse(from)} zone={zone} />{' '}
        </>
      )}
      {to !== null && (
        <>
          until <Instant ms={Date.parse(to)} zone={zone} />
        </>
      )}
    </>
  )
}
