import { priceShown } from '../../figures/shown.js'
import { wordOf } from '../../figures/words.js'
import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { Confidence } from '../parts/confidence.js'
import { Instant } from '../parts/instant.js'
import { Id, Name, Whose } from '../parts/name.js'
import { Shown } from '../parts/states.js'
import { Actions } from './actions.js'
import { CostLines } from './cost-lines.js'
import { Footprint } from './footprint.js'
import type { Explained } from './record.js'

interface CardProps {
  readonly id: string
  readonly zone: string
  /** Called when a change of the record has taken effect. */
  readonly onChanged: () => void
}

/** The evidence card: who one call is attributed to, why, how sure that is, and what it cost, in figures that add up. */
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
          <span class="strong">{how.confidence.toFixed(2)}</span>
          <Confidence confidence={how.confidence} band={how.confidence_band} isWide />
          {wordOf(how.confidence_band)}
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
  const { inference, best_guess: guess, alternatives, suggested_services: suggested } = explanation
  const others = alternatives.filter(({ service, owner }) => (service ?? owner) !== undefined)
  return (
    <>
      <dt>spoke for it</dt>
      <dd>
        {inference === null
          ? wordOf(interpretation.evidence_basis)
          : inference.reasons.map(({ text, times_likelier: times }, at) => (
              <span key={text}>
                {at > 0 && ' · '}
                {text} <span class="strong">×{times}</span>
              </span>
            ))}
        {inference?.reasons.length === 0 && 'the reasons are no longer kept'}
      </dd>
      {others.length > 0 && (
        <>
          <dt>else</dt>
          <dd>
            {others.map(({ service, owner, probability }, at) => (
              <span key={`${service} ${owner}`}>
                {at > 0 && ' · '}
                <Name>{service ?? owner ?? ''}</Name> {probability === undefined ? '' : priceShown(String(probability))}
              </span>
            ))}
            {inference !== null &&
              inference.unknown_probability !== null &&
              ` · nobody known ${priceShown(inference.unknown_probability)}`}
          </dd>
        </>
      )}
      {guess !== null && (
        <>
          <dt>best guess</dt>
          <dd>
            <Name>{guess.service}</Name> {priceShown(guess.probability)}, which is not enough to name it
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

/** What was valid before, and what replaced it. */
function History({ record, zone }: { readonly record: Explained; readonly zone: string }) {
  const { history } = record.explanation
  if (history.length === 0) return null
  return (
    <>
      <dt>history</dt>
      <dd>
        <ol class="history">
          {history.map((version) => (
            <li key={version.valid_from}>
              <Instant ms={Date.parse(version.valid_from)} zone={zone} /> {wordOf(version.output_state)}:{' '}
              <Whose service={version.service} owner={version.owner} />
              <span class="muted">
                {' '}
                until <Instant ms={Date.parse(version.valid_to)} zone={zone} />, {wordOf(version.ended_by.change)} by{' '}
                {version.ended_by.actor}
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
