import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../../internal/broker/connect.js'
import { answerGreetings, greet } from '../../../../internal/ingest/peers/greetings.js'
import { greetingsSubject } from '../../../../streams/gateways.js'
import { launchBroker, type RunningBroker } from '../../../support/broker.js'

const log = { error: () => undefined }
let nats: RunningBroker
let old: Broker
let joining: Broker

beforeAll(async () => {
  nats = await launchBroker()
  const connect = (name: string) => connectBroker({ url: nats.url, user: '', password: '', name })
  old = await connect('old')
  joining = await connect('joining')
})

afterAll(async () => {
  await Promise.all([old.connection.close(), joining.connection.close()])
})

test('a gateway that joins waits until the others see it and the log holds what they had under way', async () => {
  const steps: string[] = []
  let letIn = (): void => undefined
  const asked = new Promise<void>((resolve) => {
    const untilMember = (name: string): Promise<void> => {
      steps.push(`asked by ${name}`)
      resolve()
      return new Promise((seen) => {
        letIn = seen
      })
    }
    const flushed = async (): Promise<void> => void steps.push('flushed')
    answerGreetings(old.connection, 'old', untilMember, flushed, log)
  })
  await old.connection.flush()

  const greeted = greet(joining.connection, 'joining', ['old']).then(() => steps.push('greeted'))
  await asked
  expect(steps).toEqual(['asked by joining'])
  letIn()
  await greeted

  expect(steps).toEqual(['asked by joining', 'flushed', 'greeted'])
})

test('a dead or silent gateway delays a gateway that joins for no longer than its patience', async () => {
  old.connection.subscribe(greetingsSubject('stopped'), { callback: () => undefined })
  await old.connection.flush()

  await greet(joining.connection, 'joining', ['dead', 'stopped'])
})
