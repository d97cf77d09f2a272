import fc from 'fast-check'
import { type AttributionRow, FIELDS, type FieldKind, memberOf } from '../../internal/records/record-fields.js'

const texts = fc.string({ unit: 'binary' })
const amounts = fc.bigInt({ min: 0n, max: 10n ** 38n - 1n })

/** Any value of a kind of field. */
export const VALUES: Readonly<Record<FieldKind, fc.Arbitrary<unknown>>> = {
  label: texts,
  text: texts,
  uuid: fc.uuid(),
  bytes16: fc.uint8Array({ minLength: 16, maxLength: 16 }),
  instant: fc.nat(4_102_444_800_000),
  usd: amounts,
  wh: amounts,
  gco2e: amounts,
  optionalUsd: fc.option(amounts, { nil: undefined }),
  confidence: fc.nat(9_500),
  count: fc.option(fc.maxSafeNat(), { nil: undefined }),
  flag: fc.boolean(),
  // A map without entries is read as undefined.
  tags: fc.option(fc.dictionary(texts, texts, { minKeys: 1 }), { nil: undefined }),
  pairs: fc.array(texts, { maxLength: 9 }),
  uint16: fc.nat(2 ** 16 - 1),
  uint32: fc.nat(2 ** 32 - 1),
  uint64: fc.maxSafeNat(),
}

/** Any row that can be written, whether or not it makes sense; labels of closed lists are of their lists. */
export const rows = fc.record(
  Object.fromEntries(
    FIELDS.map(({ kind, values, ...field }) => [
      memberOf({ kind, ...field }),
      values === undefined ? VALUES[kind] : fc.constantFrom('', ...values),
    ]),
  ),
) as unknown as fc.Arbitrary<AttributionRow>
