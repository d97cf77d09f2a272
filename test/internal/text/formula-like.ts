import fc from 'fast-check'

/** Texts that a spreadsheet would read as formulas. */
export const FORMULAS: readonly string[] = [
  ...['=1+1', '+1', '-1', '@x', '\tx', '\rx', '\nx', "'=1", "''@", ' =1', '  +1', '\t=1', '\u00a0-1', '\u3000@x'],
  ...[
    '\u0000=1',
    '\u200b=1',
    '\ufeff=1',
    '＝1',
    '＋1',
    '－1',
    '＠x',
    ' ＝1',
    '﹦1',
    "'＝1",
    '\r\n=1',
    '\u2028=1',
    '\u001b=1',
  ],
]

/** Texts of what formulas are made of, and of what surrounds them. */
export const formulaLike: fc.Arbitrary<string> = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'\'"=+-@＝＋－＠﹦﹢ \t\r\n\u0000\u001b\u007f\u0085\u00a0\u3000\u200b\u2060\ufeff\\;,ab1é世'),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
  ),
  maxLength: 8,
})
