import { shownPeriod } from '../../address/period.js'
import { KEYS_PATH, type Key } from '../../api/keys.js'
import { useList } from '../../api/use-list.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Arrivals } from './arrivals.js'
import { Connect } from './connect.js'
import { Senders } from './senders.js'

/** What arrives from where, and how to connect what does not send yet. */
export function Page({ params, zone }: PageProps) {
  const period = shownPeriod(params, zone)
  const maySeeKeys = hasScope('admin:config')
  const keys = useList<Key>(maySeeKeys ? KEYS_PATH : '')
  return (
    <>
      <Arrivals period={period} zone={zone} />
      <Connect params={params} onKey={keys.answer.reload} />
      {maySeeKeys && <Senders keys={keys} zone={zone} />}
    </>
  )
}
