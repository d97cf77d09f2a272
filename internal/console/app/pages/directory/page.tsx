import { shownPeriod } from '../../address/period.js'
import { AnswerForm } from '../../answers/answer-form.js'
import { chosenTab, Tabs } from '../../parts/tabs.js'
import type { PageProps } from '../page-props.js'
import { Entries } from './entries.js'
import { ImportFile } from './import.js'
import { IDENTITIES, PRINCIPALS, SERVICES, SOURCES } from './kinds.js'
import { Rules } from './rules.js'

const TITLES = {
  services: SERVICES.title,
  identities: IDENTITIES.title,
  credentials: PRINCIPALS.title,
  layers: SOURCES.title,
  rules: 'Mapping rules',
  file: 'As a file',
}

/** Your company as the service knows it. */
export function Page({ params, zone }: PageProps) {
  const open = chosenTab(params, 'list', TITLES)
  const past = { past: shownPeriod(params, zone), zone }
  return (
    <>
      <Tabs label="Lists" page="directory" param="list" params={params} titles={TITLES} />
      {open === 'services' && <Entries kind={SERVICES} {...past} />}
      {open === 'identities' && <Entries kind={IDENTITIES} {...past} />}
      {open === 'credentials' && <Entries kind={PRINCIPALS} {...past} />}
      {open === 'layers' && <Entries kind={SOURCES} {...past} />}
      {open === 'rules' && <Rules zone={zone} />}
      {open === 'file' && <ImportFile />}
      {(open === 'identities' || open === 'file') && <OfThePast {...past} />}
    </>
  )
}

/** What was changed one by one here, by a file, or by SCIM, for the calls that were there before. */
const OfThePast = (past: Pick<Parameters<typeof AnswerForm>[0], 'past' | 'zone'>) => (
  <section class="list create" aria-label="Calls of the past">
    <header>
      <h2>Calls of the past</h2>
      <p class="muted">
        Identities, and what a file or SCIM changes, hold for calls to come. Those of the past follow when they are
        attributed again, by everything that the service knows now.
      </p>
    </header>
    <AnswerForm {...past} verb="Attribute them again" isOneOfSeveral entryOf={() => ({})} onMoving={() => undefined} />
  </section>
)
