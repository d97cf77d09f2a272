import { useEffect, useState } from 'preact/hooks'
import { INTAKE_SOURCES, type IntakeSource, intakeAddress, SOME_KEY } from '../../../figures/intake.js'
import { KEYS_PATH } from '../../api/keys.js'
import { useNewest } from '../../api/use-newest.js'
import { change, messageOf } from '../../parts/change.js'
import { Copy } from '../../parts/copy.js'
import { Ago } from '../../parts/instant.js'
import { chosenTab, Tabs } from '../../parts/tabs.js'
import { hasScope } from '../../session/session.js'

const TITLES = Object.fromEntries(Object.entries(INTAKE_SOURCES).map(([key, { title }]) => [key, title])) as Record<
  keyof typeof INTAKE_SOURCES,
  string
>

/** Of the service, as the document states it. */
const intakePort = (): number =>
  Number(document.querySelector<HTMLMetaElement>('meta[name=intake-port]')?.content ?? '0')

interface ConnectProps {
  readonly params: URLSearchParams
  readonly onKey: () => void
}

/** The block to paste, a key for it, and a light that turns on when the first event comes. */
export function Connect({ params, onKey }: ConnectProps) {
  const chosen = chosenTab(params, 'connect', TITLES)
  const source: IntakeSource = INTAKE_SOURCES[chosen]
  const [keys, setKeys] = useState<Readonly<Record<string, string>>>({})
  const [problem, setProblem] = useState('')
  const address = intakeAddress(location.origin, intakePort())
  const key = keys[chosen]
  const createKey = (): void => {
    setProblem('')
    change<{ readonly secret: string }>('POST', KEYS_PATH, keyFor(source))
      .then(({ secret }) => {
        setKeys((before) => ({ ...before, [chosen]: secret }))
        onKey()
      })
      .catch((cause: unknown) => setProblem(messageOf(cause)))
  }
  const block = source.block(address ?? '', key ?? SOME_KEY)
  return (
    <section class="list" aria-label="Connect a source">
      <header>
        <h2>Connect a source</h2>
        <Light />
      </header>
      <Tabs label="Sources" page="sources" param="connect" params={params} titles={TITLES} />
      {address === undefined ? (
        <p class="notice">The intake port of this service is off: its operator can turn it on with --intake-port.</p>
      ) : (
        <>
          <p>{source.about}</p>
          <pre class="block">{block}</pre>
          <p class="actions">
            <Copy key={block} text={block} label="Copy the lines" />
            {key === undefined && hasScope('admin:config') && (
              <button type="button" onClick={createKey}>
                Create a key for {source.title}
              </button>
            )}
          </p>
          {key !== undefined && (
            <p role="status">The lines have the new key. It is shown only once: leave this page, and it is gone.</p>
          )}
          {problem !== '' && <p role="alert">{problem}</p>}
          <p class="muted">
            {source.isGateway
              ? 'The key says that its holder is a gateway: who called is believed, ' +
                'and it may send nothing but the calls of a gateway. '
              : 'Any key will do. '}
            Prompts and completions are never read.
          </p>
        </>
      )}
    </section>
  )
}

const keyFor = ({ title, isGateway }: IntakeSource) => ({
  name: title,
  scopes: ['read:attribution'],
  ...(isGateway && { is_gateway: true, ingestion_layers: ['gateway'] }),
})

/** Off until a call comes after the page was opened. */
function Light() {
  const { id, atMs } = useNewest()
  const [before, setBefore] = useState<string | null | undefined>()
  useEffect(() => {
    setBefore((known) => (known === undefined ? id : known))
  }, [id])
  const isSeen = typeof id === 'string' && before !== undefined && id !== before
  return (
    <p role="status" data-seen={isSeen}>
      <span class={isSeen ? 'light seen-light' : 'light'} aria-hidden="true" />
      {isSeen && atMs !== undefined ? (
        <>
          {before === null ? 'First event seen' : 'New call seen'} <Ago ms={atMs} />.{' '}
          <a href={`/console/explorer?record=${id}`}>Open it</a>
        </>
      ) : before === null ? (
        'Waiting for a first event.'
      ) : (
        'Waiting for the next call.'
      )}
    </p>
  )
}
