import type { Source } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { whyPassedOver } from '../../../figures/coverage.js'
import { INTAKE_SOURCES, type IntakeSource, intakeAddress, someKey } from '../../../figures/intake.js'
import { isForSandbox } from '../../../figures/sandbox.js'
import { countShown } from '../../../figures/shown.js'
import { type Awaited, type Light, lightOf } from '../../../figures/sources.js'
import { setParams } from '../../address/address.js'
import { KEYS_PATH } from '../../api/keys.js'
import { change, messageOf } from '../../parts/change.js'
import { Copies, Copy } from '../../parts/copy.js'
import { Ago } from '../../parts/instant.js'
import { chosenTab } from '../../parts/tabs.js'
import { currentTokens, hasScope } from '../../session/session.js'

const TITLES = Object.fromEntries(Object.entries(INTAKE_SOURCES).map(([key, { title }]) => [key, title])) as Record<
  keyof typeof INTAKE_SOURCES,
  string
>

/** Of the service, as the document states it. */
const intakePort = (): number =>
  Number(document.querySelector<HTMLMetaElement>('meta[name=intake-port]')?.content ?? '0')

interface NewKey {
  readonly id: string
  readonly secret: string
}

interface ConnectProps {
  readonly params: URLSearchParams
  /** Undefined until they are read. */
  readonly sources: readonly Source[] | undefined
  readonly onKey: () => void
}

/** The block to paste, a key for it, and a light that turns on when its first call comes. */
export function Connect({ params, sources, onKey }: ConnectProps) {
  const chosen = chosenTab(params, 'connect', TITLES)
  const source: IntakeSource = INTAKE_SOURCES[chosen]
  const [keys, setKeys] = useState<Readonly<Record<string, NewKey>>>({})
  const [problem, setProblem] = useState('')
  const intake = intakeAddress(location.origin, intakePort())
  const key = keys[chosen]
  const createKey = (): void => {
    setProblem('')
    change<NewKey>('POST', KEYS_PATH, keyFor(source))
      .then((created) => {
        setKeys((before) => ({ ...before, [chosen]: created }))
        onKey()
      })
      .catch((cause: unknown) => setProblem(messageOf(cause)))
  }
  const secret = key?.secret ?? someKey(isForSandbox(currentTokens()?.accessToken ?? ''))
  const block = source.block({ api: location.origin, intake: intake ?? '' }, secret)
  return (
    <section class="list" aria-label="Connect a source">
      <header>
        <h2>Connect a source</h2>
        <label>
          <span class="hidden">What sends</span>
          <select value={chosen} onChange={({ currentTarget }) => setParams({ connect: currentTarget.value })}>
            {Object.entries(TITLES).map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </header>
      {intake === undefined && source.intake !== 'api' ? (
        <p class="notice">The intake port of this service is off: its operator can turn it on with --intake-port.</p>
      ) : (
        <>
          <p>
            {source.about} <span class="muted">More:</span> <Copies text={`deploy/docs/${source.guide}`} />
          </p>
          <pre class="block">{block}</pre>
          <p class="actions">
            <Copy key={block} text={block} label="Copy the lines" />
            {key === undefined && hasScope('admin:config') && (
              <button type="button" onClick={createKey}>
                Create a key for {source.title}
              </button>
            )}
          </p>
          {!hasScope('admin:config') && (
            <p class="notice">
              The lines need a key. A person with <code>admin:config</code> makes one, here or under Access.
            </p>
          )}
          {key !== undefined && (
            <p role="status">The lines have the new key. It is shown only once: leave this page, and it is gone.</p>
          )}
          {problem !== '' && <p role="alert">{problem}</p>}
          <p class="muted">
            {source.isGateway === true
              ? 'The key says that its holder authenticates the callers: who called is believed, ' +
                `and it may send nothing but calls of the layer ${source.layer}. `
              : 'Any key will do. '}
            Prompts and completions are never read.
          </p>
          {sources !== undefined && (
            <Waiting
              title={source.title}
              sources={sources}
              awaited={{ credential: key?.id, intake: source.intake, sender: source.sender }}
              params={params}
            />
          )}
        </>
      )}
    </section>
  )
}

const keyFor = ({ title, isGateway, layer }: IntakeSource) => ({
  name: title,
  scopes: ['read:attribution'],
  ...(isGateway === true && { is_gateway: true }),
  ...(layer !== undefined && { ingestion_layers: [layer] }),
})

interface WaitingProps {
  readonly title: string
  readonly sources: readonly Source[]
  readonly awaited: Awaited
  readonly params: URLSearchParams
}

/** Off until a call of this source comes after the page was opened: calls of others leave it off. */
function Waiting({ title, sources, awaited, params }: WaitingProps) {
  const [before] = useState(sources)
  const light = lightOf(before, sources, awaited)
  const isSeen = light.kind === 'seen'
  const whose = awaited.credential === undefined ? `of ${title}` : 'with the new key'
  return (
    <p role="status" data-light={light.kind}>
      <span class={isSeen ? 'light seen-light' : 'light'} aria-hidden="true" />
      <Words light={light} whose={whose} params={params} />
    </p>
  )
}

interface WordsProps {
  readonly light: Light
  readonly whose: string
  readonly params: URLSearchParams
}

function Words({ light, whose, params }: WordsProps) {
  const open = (id: string) => <a href={linkTo('explorer', params, { record: id })}>Open it</a>
  switch (light.kind) {
    case 'waiting':
      return light.last === undefined ? (
        <>Waiting for a first call {whose}.</>
      ) : (
        <>
          Waiting for the next call {whose}. The last came <Ago ms={light.last.atMs} />. {open(light.last.id)}
        </>
      )
    case 'arrived':
      return <>A call {whose} has arrived. Its record follows.</>
    case 'no_call':
      return (
        <>
          Something {whose} has arrived, and became no call.{' '}
          {light.why.map(({ reason, count }) => `${countShown(count)}: ${whyPassedOver(reason)}.`).join(' ')}
        </>
      )
    case 'seen':
      return (
        <>
          A call {whose} came <Ago ms={light.call.atMs} />. {open(light.call.id)}
        </>
      )
  }
}
