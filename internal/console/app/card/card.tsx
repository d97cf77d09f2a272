import { countShown, measureShown, shareOf, shareShown } from '../../figures/shown.js'
import { chargeShown, confidenceShown } from '../../figures/trust.js'
import { wordOf } from '../../figures/words.js'
import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { Confidence } from '../parts/confidence.js'
import { Instant } from '../parts/instant.js'
import { Id, Name, Whose } from '../parts/name.js'
import { Shown } from '../parts/states.js'
import { useActors, Who } from '../parts/who.js'
import { Actions } from './actions.js'
import { CostLines } from './cost-lines.js'
import type { Alternative, Band, ComparedWith, Explained, Explanation, FootprintDetails } from './record.js'
import { Tags } from './tags.js'

interface CardProps {
  readonly id: string
  readonly zone: string
  /** Called when a change of the record has taken effect. */
  readonly onChanged: () => void
}

/** The evidence card: whose one call is, why, how sure that is, and what it cost, in figures that add up. */
export function Card({ id, zone, onChanged }: CardProps) {
  const answer = useAnswer(id, (signal) => ask<Explained>(`/v1/attribution/${encodeURIComponent(id)}`, { signal }))
  const changed = (): void => {
    answer.reload()
    onChanged()
  }
  return (
    <article class="card" aria-label="Evidence of the call">
      <Shown answer={answer} what="the evidence" placeholder={<div class="placeholder card-place" />}>
        {(record) => <Evidence record={record} zone={zone} onChanged={changed} />}
      </Shown>
    </article>
  )
}

function Evidence({ record, zone, onChanged }: { record: Explained; zone: string; onChanged: () => void }) {
  const { interpretation: how, explanation } = record
  return (
    <>
      <header>
        <h2>
          <Whose service={record.service} owner={record.owner} />
        </h2>
        <p class="confidence">
          <span class="strong">{confidenceShown(how.confidence)}</span>
          <Confidence call={how} isWide />
          {chargeShown(how)}
        </p>
      </header>
      <p>
        <span class="strong">{STATE[record.output_state] ?? wordOf(how.stage_origin)}.</span> {explanation.summary}
      </p>
      <dl class="ledger">
        <SpokeForIt record={record} />
        <dt>cost</dt>
        <dd>
          <CostLines cost={explanation.cost} />
        </dd>
        <dt>footprint</dt>
        <dd>
          <Footprint footprint={explanation.footprint} />
        </dd>
        <dt>call</dt>
        <dd>
          <Name>{record.provider}</Name> · <Name>{record.served_model}</Name> ·{' '}
          <Instant ms={Date.parse(record.event_time)} zone={zone} /> · <Id>{record.id}</Id>
          {record.trace_id !== null && (
            <>
              {' '}
              · trace <Id>{record.trace_id}</Id>
            </>
          )}
        </dd>
        <Tags record={record} />
        <History record={record} zone={zone} />
      </dl>
      <Actions record={record} onChanged={onChanged} />
    </>
  )
}

const STATE: Readonly<Record<string, string>> = {
  deterministically_resolved: 'By facts',
  inferred: 'Inferred',
  allocated: 'Allocated',
  unresolved: 'Not resolved',
  overridden: 'Overridden by hand',
  disputed: 'Disputed',
}

function SpokeForIt({ record: { explanation, interpretation } }: { readonly record: Explained }) {
  const { inference, best_guess: guess, suggested_services: suggested } = explanation
  const alternatives: readonly Alternative[] = explanation.alternatives
  const others = alternatives.filter(({ service, owner }) => (service ?? owner) !== undefined)
  return (
    <>
      <dt>spoke for it</dt>
      <dd>
        {inference === null || interpretation.evidence_basis !== 'trained_inference' ? (
          wordOf(interpretation.evidence_basis)
        ) : (
          <ul class="reasons">
            {inference.reasons.map(({ text }) => (
              <li key={text}>{text}</li>
            ))}
            {inference.reasons.length === 0 && <li>the reasons are no longer kept</li>}
          </ul>
        )}
      </dd>
      {others.length > 0 && (
        <>
          <dt>else</dt>
          <dd>
            {others.map(({ service, owner, probability }, at) => (
              <span key={`${service} ${owner}`}>
                {at > 0 && ' · '}
                <Name>{service ?? owner ?? ''}</Name> {probability === undefined ? '' : chanceShown(probability)}
              </span>
            ))}
            {inference !== null &&
              inference.unknown_probability !== null &&
              ` · a service that the model does not know ${chanceShown(inference.unknown_probability)}`}
          </dd>
        </>
      )}
      {inference !== null && inference.compared_with !== null && <Measured of={inference.compared_with} />}
      {guess !== null && (
        <>
          <dt>best guess</dt>
          <dd>
            <Name>{guess.service}</Name> {chanceShown(guess.probability)}, which is not enough to name it
          </dd>
        </>
      )}
      {suggested.length > 0 && (
        <>
          <dt>did it mean</dt>
          <dd>
            {suggested.map((name) => (
              <Name key={name}>{name}</Name>
            ))}
          </dd>
        </>
      )}
    </>
  )
}

/** The API has four decimals; nothing has no chance at all, and no model is certain. */
const chanceShown = (probability: string | number): string =>
  shareShown(String(Math.min(Math.max(Number(probability), 0.0001), 0.9999)))

/** How often the model was right about calls that show as much of their caller, whose service was hidden from it. */
function Measured({ of: { classes, precision_at_floor: precision } }: { readonly of: ComparedWith }) {
  return (
    <>
      <dt>how sure</dt>
      <dd>
        {precision === null
          ? 'Not measured for calls that show as much of their caller.'
          : 'Of known calls that show as much of their caller and that the model named at 0.80 or more, ' +
            `${shareOf(precision)} were right.`}{' '}
        It was compared with {countShown(classes)} other {classes === 1 ? 'service' : 'services'}.
      </dd>
    </>
  )
}

/** Energy and carbon as intervals, and what they rest on. */
function Footprint({
  footprint: { energy_wh: energy, carbon_gco2e: carbon, uncertainty, details },
}: {
  readonly footprint: Explanation['footprint']
}) {
  const { grid, energy_as_of: asOf, energy_id: id }: FootprintDetails = details
  return (
    <>
      {range(energy, 'energy')} · {range(carbon, 'carbon')}
      {grid?.zone !== undefined && ` · grid ${grid.zone}`}
      {asOf !== undefined && energy.basis !== 'measured' && (
        <>
          {` · energy table of ${asOf}`}
          {id !== undefined && (
            <>
              , version <Id>{id}</Id>
            </>
          )}
        </>
      )}
      {uncertainty !== null && <p class="muted">{uncertainty}</p>}
    </>
  )
}

function range({ value, basis, outer_min: min, outer_max: max }: Band, kind: 'energy' | 'carbon'): string {
  if (basis === 'unknown') return `${kind} unknown`
  const interval =
    min === undefined || max === undefined ? '' : `${measureShown(min, kind)} – ${measureShown(max, kind)}, `
  return `${measureShown(value, kind)} (${interval}${wordOf(basis)})`
}

/** What was valid before, and what replaced it. */
function History({ record, zone }: { readonly record: Explained; readonly zone: string }) {
  const { history } = record.explanation
  const actors = useActors()
  if (history.length === 0) return null
  return (
    <>
      <dt>history</dt>
      <dd>
        <ol class="history">
          {history.map(({ valid_from: from, valid_to: to, output_state: state, service, owner, ended_by: end }) => (
            <li key={from}>
              <Instant ms={Date.parse(from)} zone={zone} /> {wordOf(state)}: <Whose service={service} owner={owner} />
              <span class="muted">
                {' '}
                until <Instant ms={Date.parse(to)} zone={zone} />, {wordOf(end.change)} by{' '}
                <Who id={end.actor} actors={actors} />
              </span>
            </li>
          ))}
          <li>
            <Instant ms={Date.parse(record.materialized_at)} zone={zone} /> {wordOf(record.output_state)}:{' '}
            <Whose service={record.service} owner={record.owner} />
          </li>
        </ol>
      </dd>
    </>
  )
}
