/** Sessions over WebSockets: each event with a usage is a call. */
import { Answer, type Stated } from './answer.js'
import { statedIn } from './answer-scanner.js'
import { type ModelCall, member, quietly, textIn } from './event.js'
import { sellerOf } from './provider.js'

type Record = (call: ModelCall) => void

/** OpenAI's clients of its Realtime API and of its Responses API over WebSockets. */
export function observeSession(session: object, record: Record): void {
  const { on, url } = session as { on: (name: string, listener: (event: unknown) => void) => void; url?: URL }
  let model = url?.searchParams.get('model') ?? undefined
  let transcriber: string | undefined
  on.call(session, 'event', (event) =>
    quietly(() => {
      const settings = member(event, 'session')
      const input = member(member(settings, 'audio'), 'input')
      model = textIn(settings, 'model') ?? model
      transcriber =
        textIn(member(input, 'transcription') ?? member(settings, 'input_audio_transcription'), 'model') ?? transcriber
      const isTranscript = textIn(event, 'type')?.includes('input_audio_transcription') === true
      recordEvent(event, isTranscript ? transcriber : model, url, record)
    }),
  )
}

/** Google's Live API. */
/** @param begin takes the scope of a session that begins */
export function wrapLive(live: unknown, begin: () => Record): void {
  const connect = member(live, 'connect')
  if (typeof connect !== 'function') return
  const wrapped = (parameters: object): unknown => {
    const callbacks = member(parameters, 'callbacks') as object
    const onmessage = member(callbacks, 'onmessage') as (message: unknown) => void
    const model = textIn(parameters, 'model')
    const record = begin()
    const seen = (message: unknown): void => {
      quietly(() => recordEvent(message, model, undefined, record))
      onmessage(message)
    }
    return connect.call(live, { ...parameters, callbacks: { ...callbacks, onmessage: seen } })
  }
  ;(live as { connect: unknown }).connect = wrapped
}

function recordEvent(event: unknown, model: string | undefined, url: URL | undefined, record: Record): void {
  const answer = new Answer()
  for (const stated of statedIn(event) as readonly Stated[]) answer.add(stated)
  if (!answer.hasUsage) return
  const facts = answer.facts()
  const request = { url: url ?? NO_URL, headers: NO_HEADERS }
  const seller = sellerOf(request, undefined, answer.api, [facts.served_model, model])
  record({
    requested_model: model ?? facts.served_model ?? 'unknown',
    ...facts,
    ...seller,
    region: facts.region ?? seller.region,
    outcome: answer.outcome ?? 'success',
  })
}

const NO_URL = new URL('wss://unknown')
const NO_HEADERS = new Headers()
