import { openingOf } from '../../parts/opens.js'
import { chosenTab, Tabs } from '../../parts/tabs.js'
import type { PageProps } from '../page-props.js'
import { Clients } from './clients.js'
import { Keys } from './keys.js'
import { People } from './people.js'
import { SignInSettings } from './sign-in.js'

const TITLES = { keys: 'API keys', clients: 'OAuth clients', people: 'People and signing in' }

/** Who may do what: programs and people. */
export function Page({ params, zone }: PageProps) {
  const list = chosenTab(params, 'list', TITLES)
  const opening = openingOf(params, 'open')
  return (
    <>
      <Tabs label="Lists" page="access" param="list" params={params} titles={TITLES} />
      {list === 'keys' && <Keys zone={zone} />}
      {list === 'clients' && <Clients opening={opening} zone={zone} />}
      {list === 'people' && (
        <>
          <People opening={opening} zone={zone} />
          <SignInSettings />
        </>
      )}
    </>
  )
}
