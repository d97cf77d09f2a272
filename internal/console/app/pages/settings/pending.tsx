import type { Settings } from 'attribution-service/sdk/api'
import { change } from '../../parts/change.js'
import { Instant } from '../../parts/instant.js'
import { useDoing } from '../../parts/use-doing.js'
import { useActors, Who } from '../../parts/who.js'
import { GROUPS } from './settings.js'

interface PendingProps {
  readonly settings: Settings
  readonly zone: string
  readonly onChanged: () => void
}

const titleOf = (name: string): string =>
  GROUPS.flatMap(({ settings }) => settings).find((setting) => setting.name === name)?.title ?? name

/** Changes that wait for a day, since they destroy data, decide where it may be, or show what was hidden. */
export function Pending({ settings, zone, onChanged }: PendingProps) {
  const { pending_changes: pending } = settings
  const { doing, outcome, isBusy } = useDoing()
  const actors = useActors()
  const cancel = (setting: string) =>
    doing(async () => {
      await change('DELETE', `/api/v1/settings/pending-changes/${setting}`)
      onChanged()
      return 'It is cancelled: the setting stays as it is.'
    })
  return (
    <>
      {pending.length > 0 && (
        <section class="list notice" aria-label="Changes that wait">
          <header>
            <h2>Changes that wait</h2>
          </header>
          <ul>
            {pending.map(({ setting, to, requested_by: by, requested_at: asked, takes_effect_at: due }) => (
              <li key={setting}>
                <strong>{titleOf(setting)}</strong>: {to ?? 'any'} from <Instant ms={Date.parse(due)} zone={zone} /> on,
                asked for by <Who id={by} actors={actors} /> <Instant ms={Date.parse(asked)} zone={zone} />{' '}
                <button type="button" disabled={isBusy} onClick={() => void cancel(setting)}>
                  Cancel it
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      {outcome}
    </>
  )
}
