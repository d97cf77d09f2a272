import { csvField, neutralised } from '../../text/csv.js'

/** CSV (RFC 4180), safe to open in a spreadsheet; figures stay as they are. */
export const csvOf = (head: readonly string[], rows: readonly (readonly (string | number | null)[])[]): string =>
  [head, ...rows]
    .map((row) => row.map(cell).join(','))
    .join('\r\n')
    .concat('\r\n')

function cell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  return csvField(/^-?\d+(\.\d+)?$/.test(text) ? text : neutralised(text))
}
