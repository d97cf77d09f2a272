/** Rows as text with columns of equal width; the first column is a name, the others are figures, aligned right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
  return `${rows.map((row) => `  ${line(row)}`.trimEnd()).join('\n')}\n`
}
