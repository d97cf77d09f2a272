import { randomBytes } from 'node:crypto'

/**
 * A number that is written to JSON with its exact decimal digits and never converted to a float: the amounts of
 * `budget.threshold.crossed` are JSON numbers, but money.
 */
export class ExactNumber {
  private readonly text: string

  /** @param text a plain decimal, such as `12.50` */
  constructor(text: string) {
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) throw new Error('an exact number is a plain decimal')
    this.text = text
  }

  toJSON(): string {
    return `${MARK}${this.text}`
  }
}

/** `JSON.stringify`, with exact numbers as numbers. */
export const exactJson = (value: unknown): string => JSON.stringify(value).replace(MARKED, '$1')

/** Random per process start, so that no external text can contain it. */
const MARK = `exact number ${randomBytes(16).toString('hex')} `
const MARKED = new RegExp(`"${MARK}(-?[\\d.]+)"`, 'g')
