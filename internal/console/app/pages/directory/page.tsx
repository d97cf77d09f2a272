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
  return (
    <>
      <Tabs label="Lists" page="directory" param="list" params={params} titles={TITLES} />
      {open === 'services' && <Entries kind={SERVICES} />}
      {open === 'identities' && <Entries kind={IDENTITIES} />}
      {open === 'credentials' && <Entries kind={PRINCIPALS} />}
      {open === 'layers' && <Entries kind={SOURCES} />}
      {open === 'rules' && <Rules zone={zone} />}
      {open === 'file' && <ImportFile />}
    </>
  )
}
