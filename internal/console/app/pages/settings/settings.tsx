import type { Settings } from 'attribution-service/sdk/api'
import type { ComponentChildren } from 'preact'
import { countShown, usdShown } from '../../../figures/shown.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { Dimensions, dimensionsOf } from './dimensions.js'

/** One setting: what it is now, what changing it costs, and the fields that change it. */
export interface Setting {
  readonly name: string
  readonly title: string
  readonly shown: (settings: Settings) => ComponentChildren
  /** What a change does to calls, people and money, and when. */
  readonly cost: string
  readonly Fields: (props: { readonly settings: Settings }) => ComponentChildren
  /** The patch that the fields state. @param settings as they were */
  readonly patchOf: (fields: FormData, settings: Settings) => object
}

type Name = keyof Settings

/** @param read the value of the field, as the API takes it */
const text = (
  name: Name & string,
  title: string,
  cost: string,
  field: Partial<Parameters<typeof Field>[0]> & { readonly isNumber?: boolean; readonly isOptional?: boolean } = {},
  shown: (settings: Settings) => ComponentChildren = (settings) => String(settings[name] ?? 'none'),
): Setting => {
  const { isNumber = false, isOptional = false, ...rest } = field
  return {
    name,
    title,
    cost,
    shown,
    Fields: ({ settings }) => (
      <Field
        label={title}
        name={name}
        required={!isOptional}
        {...(isNumber && { inputMode: 'numeric', pattern: '\\d{1,7}' })}
        defaultValue={settings[name] === null ? undefined : String(settings[name])}
        {...rest}
      />
    ),
    patchOf: (fields) => {
      const value = textOf(fields, name)
      return { [name]: value === undefined ? null : isNumber ? Number(value) : value }
    },
  }
}

const choice = (
  name: Name & string,
  title: string,
  cost: string,
  choices: Readonly<Record<string, string>>,
): Setting => ({
  name,
  title,
  cost,
  shown: (settings) => choices[String(settings[name])] ?? String(settings[name]),
  Fields: ({ settings }) => (
    <Choice label={title} name={name} choices={choices} defaultValue={String(settings[name])} />
  ),
  patchOf: (fields) => ({ [name]: fields.get(name) }),
})

const flag = (name: Name & string, title: string, cost: string, label: string): Setting => ({
  name,
  title,
  cost,
  shown: (settings) => (settings[name] === true ? 'yes' : 'no'),
  Fields: ({ settings }) => <Check label={label} name={name} defaultChecked={settings[name] === true} />,
  patchOf: (fields) => ({ [name]: fields.has(name) }),
})

const LATER = 'Later calls only; records stay as they are.'

export const GROUPS: readonly { readonly title: string; readonly settings: readonly Setting[] }[] = [
  {
    title: 'The company',
    settings: [
      text('name', 'Name', 'Shown to people alone; nothing is computed by it.'),
      text(
        'time_zone',
        'Time zone of budgets',
        'Budgets that state no zone of their own begin and end their periods by it.',
        {
          hint: 'of the tz database',
          placeholder: 'Europe/Berlin',
        },
      ),
      text(
        'retention_days',
        'Calls are kept for',
        'Fewer days wait 24 hours; then older calls are deleted for good within an hour, and reports lack them. More days hold at ' +
          'once, and bring nothing back.',
        { isNumber: true, hint: 'days, 30 to 3,650' },
        ({ retention_days: days }) => `${countShown(days)} days`,
      ),
      text(
        'residency_region',
        'Region in which data stays',
        'Waits 24 hours, also when it is lifted. Exports, webhooks and schedules that lead elsewhere then stop.',
        { isOptional: true, hint: '(any)', placeholder: 'eu-central-1' },
        ({ residency_region: region }) => region ?? 'any',
      ),
    ],
  },
  {
    title: 'Who is shown',
    settings: [
      text(
        'min_cohort',
        'Smallest group shown',
        'A larger one folds more rows of reports, exports and this console into “small groups”, from the next report on.',
        { isNumber: true, hint: 'people, 5 to 50' },
        ({ min_cohort: people }) => `${countShown(people)} people`,
      ),
      choice(
        'cohort_scope',
        'What folds',
        'Naming all services and teams waits 24 hours, and only an owner may ask for it: a folded rest may then be one person.',
        { all: 'every small group', people: 'what names people; listed services and teams never' },
      ),
      choice('owner_fallback', 'Owner of unknown people', LATER, {
        identity: 'the identity as given',
        unassigned: 'nobody',
      }),
    ],
  },
  {
    title: 'How calls are attributed',
    settings: [
      {
        name: 'dimensions',
        title: 'Declared tags',
        cost:
          'Their values become columns, filters and groups of calls that are attributed from now on; earlier ones are ' +
          '“(not declared)”. A tag that is taken off is hidden, and keeps its values. At most eight.',
        shown: ({ dimensions }) =>
          dimensions.map(({ key, personal }) => `${key}${personal ? ' (names people)' : ''}`).join(', ') || 'none',
        Fields: Dimensions,
        patchOf: dimensionsOf,
      },
      choice(
        'undeclared_services',
        'A service that the directory lacks',
        `Decides whether its calls can be charged (0.80 and more) or not. ${LATER}`,
        {
          auto: 'counts as claimed, once the directory has services',
          declared: 'counts as claimed: not charged back',
          resolved: 'counts as known',
        },
      ),
      flag(
        'stage_b_enabled',
        'Trained inference',
        `Without it, calls that facts leave open go to pools. ${LATER}`,
        'Let a trained model attribute what facts leave open',
      ),
      flag(
        'merge_seen_calls',
        'Calls that two sources show',
        'Without it, such a call is two records and counts twice. Holds for calls that arrive after the change.',
        'Make one record of them',
      ),
      {
        name: 'trusted_fields',
        title: 'What gateways vouch for',
        cost: `A field that callers can write, and that is listed, decides who pays. ${LATER}`,
        shown: ({ trusted_fields: fields }) => fields.join(', ') || 'nothing that callers could write',
        Fields: ({ settings }) => (
          <label>
            <span>
              Intake and field <span class="muted">one per line, such as otlp.key_alias</span>
            </span>
            <textarea name="trusted_fields" rows={4}>
              {settings.trusted_fields.join('\n')}
            </textarea>
          </label>
        ),
        patchOf: (fields) => ({
          trusted_fields: (textOf(fields, 'trusted_fields') ?? '').split(/\s+/).filter(Boolean),
        }),
      },
    ],
  },
  {
    title: 'Money, energy and carbon',
    settings: [
      text(
        'stated_cost_factor',
        'A stated cost is doubted from',
        `Such calls count, and are not charged back until somebody looks. ${LATER}`,
        { isNumber: true, hint: 'times the price, or less than that part of it' },
        ({ stated_cost_factor: factor }) => `${countShown(factor)} times the price`,
      ),
      text(
        'stated_cost_ceiling_usd',
        'A stated cost is doubted above',
        `Of one call, whatever its price: it counts, and is not charged back until somebody looks. ${LATER}`,
        { inputMode: 'decimal', pattern: '\\d{1,12}(\\.\\d{1,18})?', hint: 'USD' },
        ({ stated_cost_ceiling_usd: usd }) => `USD ${usdShown(usd)}`,
      ),
      flag(
        'charge_upper_bounds',
        'Costs that are upper bounds',
        `Charged back, a team may pay more than was billed: cached tokens count at the full rate. ${LATER}`,
        'Charge them back',
      ),
      {
        name: 'grid',
        title: 'Grid of calls without a region',
        cost: `Changes their carbon, not their energy or cost. ${LATER} Factors of your own are set over the API.`,
        shown: ({ grid }) =>
          grid === null
            ? 'the defaults of the method'
            : `${grid.zone ?? 'the default zone'}${grid.factors.length === 0 ? '' : `, ${countShown(grid.factors.length)} factors of your own`}`,
        Fields: ({ settings }) => (
          <>
            <Field
              label="Zone"
              hint="a country such as SWE, or a cloud region"
              name="zone"
              defaultValue={settings.grid?.zone ?? undefined}
            />
            <input type="hidden" name="factors" value={JSON.stringify(settings.grid?.factors ?? [])} />
          </>
        ),
        patchOf: (fields) => {
          const factors: readonly unknown[] = JSON.parse(String(fields.get('factors')))
          const zone = textOf(fields, 'zone') ?? null
          return { grid: zone === null && factors.length === 0 ? null : { zone, factors } }
        },
      },
    ],
  },
  {
    title: 'Access',
    settings: [
      flag(
        'require_second_factor',
        'Second factor with passwords',
        'Everybody who signs in by password sets one up at their next sign-in.',
        'Ask everybody for one',
      ),
      text(
        'api_key_max_lifetime_days',
        'A new API key lives for',
        'Holds for keys that are made or rotated from now on.',
        { isNumber: true, hint: 'days at most' },
        ({ api_key_max_lifetime_days: days }) => `${countShown(days)} days at most`,
      ),
      choice(
        'delegation',
        'Who may give what',
        'With “everything”, those who may change settings can give themselves every permission. Only an owner may set it.',
        { held: 'only what one holds', any: 'everything' },
      ),
      {
        name: 'rate_limits',
        title: 'Requests per second',
        cost: 'Above it, requests wait or are refused (429), and senders repeat them. Never more than the operator allows.',
        shown: ({ rate_limits: limits }) =>
          LIMITS.map(([name, words]) => `${words} ${countShown(limits[name].per_second)}`).join(', '),
        Fields: ({ settings: { rate_limits: limits } }) => (
          <div class="pair">
            {LIMITS.map(([name, words]) => (
              <Field
                key={name}
                label={words}
                name={name}
                required
                inputMode="numeric"
                pattern="\d{1,8}"
                defaultValue={String(limits[name].per_second)}
              />
            ))}
          </div>
        ),
        // One that is stated no longer follows what the operator allows.
        patchOf: (fields, { rate_limits: before }) => ({
          rate_limits: Object.fromEntries(
            LIMITS.map(([name]) => [name, { per_second: Number(textOf(fields, name)) }] as const).filter(
              ([name, { per_second: wanted }]) => wanted !== before[name].per_second,
            ),
          ),
        }),
      },
    ],
  },
]

const LIMITS = [
  ['ingest', 'calls sent'],
  ['read', 'reads'],
  ['report', 'reports'],
  ['control', 'changes'],
  ['token', 'sign-ins'],
] as const
