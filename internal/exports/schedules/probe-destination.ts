import { type Destination, DestinationFailed } from './destination.js'
import type { Schedule } from './schedule.js'
import type { TestResult } from './schedule-contract.js'

const PROBE_MS_MAX = 15_000

/** Writes a small object to the bucket of a schedule and deletes it. */
export async function probe(
  schedule: Schedule,
  openDestination: (schedule: Schedule) => Promise<Destination>,
): Promise<TestResult> {
  const signal = AbortSignal.timeout(PROBE_MS_MAX)
  const { prefix } = schedule.destination
  const key = `${prefix === '' ? '' : `${prefix}/`}${schedule.id}/probe.txt`
  let destination: Destination | undefined
  try {
    destination = await openDestination(schedule)
    await destination.put(key, textOf('probe\n'), signal)
    const isRemoved = await destination.remove(key, signal).then(
      () => true,
      () => false,
    )
    return { status: 'succeeded', reason: null, response_status: null, probe_removed: isRemoved }
  } catch (cause) {
    if (!(cause instanceof DestinationFailed)) throw cause
    return { status: 'failed', reason: cause.reason, response_status: cause.status, probe_removed: false }
  } finally {
    destination?.close()
  }
}

async function* textOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
