import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { ApiProblem, ask } from '../../api/ask.js'

/** An instance without calls: three ways to send a first one, and a light that turns on when it comes. */
export function FirstRun() {
  const [sent, setSent] = useState<'no' | 'sending' | 'sent' | ApiProblem>('no')
  const send = async (): Promise<void> => {
    setSent('sending')
    try {
      await ask('/api/v1/invocations', { method: 'POST', body: testEvent() })
      setSent('sent')
    } catch (cause) {
      setSent(cause instanceof ApiProblem ? cause : new ApiProblem(0, '', String(cause)))
    }
  }
  return (
    <section class="first-run">
      <h2 class="title">No calls yet</h2>
      <p role="status">
        <span class={sent === 'sent' ? 'light waiting-light' : 'light'} aria-hidden="true" />
        {sent === 'sent'
          ? 'The event is on its way. This page shows it as soon as it is attributed.'
          : 'Waiting for a first event.'}
      </p>
      <h2>Send a test event</h2>
      <p>One call of gpt-4o-mini by the service “first-steps”, as your gateway would send it.</p>
      <p>
        <button type="button" class="primary" disabled={sent === 'sending'} onClick={() => void send()}>
          Send a test event
        </button>
      </p>
      {sent instanceof ApiProblem && <p role="alert">{sent.message}</p>}
      <h2>Or connect what makes your calls</h2>
      <p>
        LiteLLM, OpenTelemetry, Kong, Envoy: <a href={linkTo('sources', new URLSearchParams())}>Sources</a> has the
        lines to paste, and a key for them.
      </p>
      <h2>Or look at a made-up company</h2>
      <pre>npm start -- --demo</pre>
    </section>
  )
}

const testEvent = () => ({
  event_id: crypto.randomUUID(),
  ingestion_layer: 'application',
  ingestion_timestamp: new Date().toISOString(),
  provider: 'openai',
  requested_model: 'gpt-4o-mini',
  input_tokens: 1_200,
  output_tokens: 250,
  attributed_service: 'first-steps',
})
