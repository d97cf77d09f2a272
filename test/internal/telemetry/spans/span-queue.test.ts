import { beforeEach, describe, expect, test } from 'vitest'
import { METRICS } from '../../../../internal/telemetry/metrics.js'
import type { FinishedSpan } from '../../../../internal/telemetry/spans/finished-span.js'
import { QUEUE_SPANS_MAX, SpanQueue } from '../../../../internal/telemetry/spans/span-queue.js'

const SPAN: FinishedSpan = {
  name: 'span',
  kind: 'server',
  context: { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) },
  startMs: 0,
  endMs: 1,
  attributes: {},
  isError: false,
}

/** A collector that answers when the test says so. */
class Held {
  readonly batches: number[] = []
  private settle: (() => void)[] = []
  private onBatch: () => void = () => undefined

  readonly send = (spans: readonly FinishedSpan[]): Promise<void> => {
    this.batches.push(spans.length)
    const settled = new Promise<void>((resolve) => this.settle.push(resolve))
    this.onBatch()
    return settled
  }

  answer(): void {
    for (const resolve of this.settle.splice(0)) resolve()
  }

  untilBatches(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.onBatch = () => this.batches.length >= count && resolve()
      this.onBatch()
    })
  }
}

const add = (queue: SpanQueue, count: number): void => {
  for (let i = 0; i < count; i++) queue.add(SPAN)
}
const noted: unknown[] = []
const note = (cause: unknown): void => void noted.push(cause)
const counted = async () => {
  const families = await METRICS.getMetricsAsJSON()
  const valuesOf = (name: string) => families.find((family) => family.name === name)?.values ?? []
  return {
    exported: valuesOf('attribution_spans_exported_total')[0]?.value ?? 0,
    ...Object.fromEntries(
      valuesOf('attribution_spans_dropped_total').map(({ labels, value }) => [labels['reason'], value]),
    ),
  }
}

beforeEach(() => {
  for (const name of ['exported', 'dropped']) METRICS.getSingleMetric(`attribution_spans_${name}_total`)?.reset()
  noted.length = 0
})

describe('spans on their way to the collector', () => {
  test('go in batches, one at a time, without anybody waiting', async () => {
    const held = new Held()
    const queue = new SpanQueue(held.send, note)
    add(queue, 1_000)
    expect(held.batches).toEqual([512])
    held.answer()
    await held.untilBatches(2)
    const closed = queue.close()
    held.answer()
    await closed

    expect(held.batches).toEqual([512, 488])
    expect(await counted()).toEqual({ exported: 1_000 })
  })

  test('a few go soon', async () => {
    const held = new Held()
    const queue = new SpanQueue(held.send, note)
    add(queue, 3)
    await held.untilBatches(1)
    expect(held.batches).toEqual([3])
    held.answer()
    await queue.close()
  })

  test('beyond the bound are dropped and counted', async () => {
    const held = new Held()
    const queue = new SpanQueue(held.send, note)
    // The first batch is on its way, and the collector does not answer.
    add(queue, 512)
    add(queue, QUEUE_SPANS_MAX + 7)
    expect(await counted()).toEqual({ exported: 0, queue_full: 7 })
    await queue.close()
    expect(await counted()).toEqual({ exported: 0, queue_full: 7, stopped: QUEUE_SPANS_MAX })
    held.answer()
  })

  test('that a collector does not take are dropped and counted, and said once', async () => {
    let isUp = false
    const send = async (): Promise<void> => {
      if (!isUp) throw new Error('refused')
    }
    const queue = new SpanQueue(send, note)
    add(queue, 1_024)
    await expect.poll(counted).toEqual({ exported: 0, export_failed: 1_024 })
    expect(noted).toEqual([new Error('refused')])
    isUp = true
    add(queue, 512)
    await expect.poll(counted).toEqual({ exported: 512, export_failed: 1_024 })
    await queue.close()
  })

  test('at a stop are sent; later ones are dropped', async () => {
    const held = new Held()
    const queue = new SpanQueue(held.send, note)
    add(queue, 2)
    const closed = queue.close()
    await held.untilBatches(1)
    held.answer()
    await closed
    queue.add(SPAN)

    expect(await counted()).toEqual({ exported: 2, stopped: 1 })
  })
})
