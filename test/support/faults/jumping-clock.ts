/**
 * Loaded before a role (`node --import`): its clock is off by the milliseconds in the file that JUMPING_CLOCK_FILE
 * names, and follows the file. Monotonic time (`performance.now`, timers) does not jump, as on a machine whose clock is
 * set.
 */
import { readFileSync, watchFile } from 'node:fs'

const RealDate = Date
let offMs = 0

class JumpingDate extends RealDate {
  constructor(...parts: unknown[]) {
    if (parts.length === 0) super(RealDate.now() + offMs)
    else super(...(parts as [number]))
  }

  static override now(): number {
    return RealDate.now() + offMs
  }
}
globalThis.Date = JumpingDate as DateConstructor

const file = process.env['JUMPING_CLOCK_FILE'] as string
const read = (): void => {
  offMs = Number(readFileSync(file, 'utf8'))
}
read()
watchFile(file, { interval: 100 }, read).unref()
