import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { countShown, shareOf } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { AndMore } from '../../parts/and-more.js'
import { change } from '../../parts/change.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { Id, ServiceCells } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import { hasScope } from '../../session/session.js'
import { Calibration } from './calibration.js'
import { MODELS_PATH, type Model, type Quality, whyNot } from './model.js'

interface DetailsProps {
  readonly model: Model
  readonly zone: string
  readonly onChanged: () => void
}

type Decision = 'promote' | 'recall' | 'restore'

const DECISIONS: Readonly<Record<Decision, { readonly verb: string; readonly about: string }>> = {
  promote: { verb: 'Promote it', about: 'It replaces the version that is serving, for calls to come.' },
  recall: {
    verb: 'Recall it',
    about:
      'It stops serving. The version before it takes over, or the heuristic baseline, whose results are advisory. ' +
      'Records that it has made stay as they are.',
  },
  restore: { verb: 'Restore it', about: 'The recall is undone: it serves again if it did before.' },
}

/** The card of a model version: what it learned from, how right it is, and whether it still is. */
export function Details({ model, zone, onChanged }: DetailsProps) {
  const [open, setOpen] = useState<Decision | undefined>()
  const decide = (decision: Decision) => async (): Promise<void> => {
    await change('POST', `${MODELS_PATH}/${model.id}/${decision}`)
    onChanged()
  }
  const { data_window: window, examples, validation } = model
  return (
    <>
      <dl class="ledger">
        <dt>version</dt>
        <dd>
          <Id>{model.id}</Id>{' '}
          <a href={linkTo('explorer', new URLSearchParams(location.search), { 'filter[stage_origin][eq]': 'stage_b' })}>
            Look at inferred calls
          </a>
        </dd>
        <dt>learned from</dt>
        <dd>
          {countShown(examples.resolved)} calls proved by facts and {countShown(examples.unresolved)} others,{' '}
          <Instant ms={Date.parse(window.from)} zone={zone} /> to <Instant ms={Date.parse(window.to)} zone={zone} />,
          with {countShown(examples.overrides)} overrides and {countShown(examples.disputes)} disputes
        </dd>
        <dt>validated on</dt>
        <dd>
          calls since <Instant ms={Date.parse(window.validation_from)} zone={zone} />:{' '}
          {validation.passed ? 'passed' : `not passed: ${whyNot(validation)}`}
        </dd>
        <dt>nobody known</dt>
        <dd>{shareOf(model.unknown_share)} of the calls without proof look like no service that it knows</dd>
        <Drift model={model} zone={zone} />
      </dl>
      <QualityTable model={model} />
      <h3>Calibration</h3>
      <Calibration bins={model.calibration_curve} />
      <Learned model={model} />
      {hasScope('admin:config') && (
        <p class="actions">
          {decisionsOf(model).map((decision) => (
            <button key={decision} type="button" onClick={() => setOpen(decision)}>
              {DECISIONS[decision].verb}
            </button>
          ))}
        </p>
      )}
      {open !== undefined && (
        <FormDialog
          title={DECISIONS[open].verb}
          verb={DECISIONS[open].verb}
          onClose={() => setOpen(undefined)}
          send={decide(open)}
        >
          <p>{DECISIONS[open].about}</p>
        </FormDialog>
      )}
    </>
  )
}

function decisionsOf({ status, can_serve: canServe }: Model): readonly Decision[] {
  if (status === 'recalled') return ['restore']
  return [
    ...(status !== 'serving' && canServe ? (['promote'] as const) : []),
    ...(status === 'candidate' ? [] : (['recall'] as const)),
  ]
}

/** Whether it is still right, on calls that it did not learn from. */
function Drift({ model: { withdrawn, shadow }, zone }: Pick<DetailsProps, 'model' | 'zone'>) {
  return (
    <>
      {withdrawn !== null && (
        <>
          <dt>drift</dt>
          <dd>
            Withdrawn <Instant ms={Date.parse(withdrawn.at)} zone={zone} />: of {countShown(withdrawn.scored)} newly
            proved calls it was right in {shareOf(withdrawn.precision)} of those that it was sure of, at most{' '}
            {shareOf(withdrawn.precision_at_most)}.
            {withdrawn.changed.length > 0 && (
              <> These no longer look as they did: {withdrawn.changed.map(({ service }) => service).join(', ')}.</>
            )}
          </dd>
        </>
      )}
      {shadow !== null && (
        <>
          <dt>in the shadow</dt>
          <dd>
            of {countShown(shadow.events)} calls since <Instant ms={Date.parse(shadow.since)} zone={zone} />, it agreed
            with <Id>{shadow.against}</Id> on {countShown(shadow.agreed)}; sure of {countShown(shadow.candidate_ready)}{' '}
            against {countShown(shadow.serving_ready)}; sure of another service for{' '}
            {countShown(shadow.ready_for_another)}
          </dd>
        </>
      )}
    </>
  )
}

const QUALITIES: readonly (readonly [words: string, shown: (quality: Quality) => string])[] = [
  ['calls', ({ n }) => countShown(n)],
  ['right', ({ accuracy }) => shareOf(accuracy)],
  ['baseline right', ({ heuristic_accuracy: heuristic }) => shareOf(heuristic)],
  ['majority right', ({ majority_accuracy: majority }) => shareOf(majority)],
  ['right when sure', ({ precision_at_floor: precision }) => (precision === null ? '–' : shareOf(precision))],
  ['sure of', ({ share_at_floor: share }) => shareOf(share)],
  ['calibration error', ({ calibration_error: error }) => shareOf(error)],
]

function QualityTable({ model: { validation } }: { readonly model: Model }) {
  const { served_traffic: served, audits } = validation
  return (
    <>
      <Table label="How right it is" head={['how right it is', '#like those it serves', '#audited']}>
        {QUALITIES.map(([words, shown]) => (
          <tr key={words}>
            <th scope="row">{words}</th>
            <td class="number">{shown(served)}</td>
            <td class="number">{audits === null ? '–' : shown(audits)}</td>
          </tr>
        ))}
      </Table>
      {audits === null && <p class="muted">Nobody has audited a call yet: the audit queue is under Unattributed.</p>}
    </>
  )
}

const LISTED_MAX = 12

/** What it tells apart, and by what. */
function Learned({ model: { classes, feature_importance: features } }: { readonly model: Model }) {
  return (
    <div class="parts">
      <Table label="What it tells apart" head={['tells apart', 'owner', '#examples', '#of unproved calls']}>
        {classes.slice(0, LISTED_MAX).map(({ service, owner, examples, served_share: share }) => (
          <tr key={`${service} ${owner}`}>
            <ServiceCells service={service} owner={owner} />
            <td class="number">{countShown(examples)}</td>
            <td class="number">{shareOf(share)}</td>
          </tr>
        ))}
        <AndMore columns={4} count={classes.length - LISTED_MAX} />
      </Table>
      <Table label="By what it tells them apart" head={['by its', '#right less often without it']}>
        {features.slice(0, LISTED_MAX).map(({ feature, accuracy_lost: lost }) => (
          <tr key={feature}>
            <th scope="row">{wordOf(feature)}</th>
            <td class="number">{shareOf(lost)}</td>
          </tr>
        ))}
      </Table>
    </div>
  )
}
