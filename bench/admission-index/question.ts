import { join } from 'node:path'
import { type Provenance, provenance } from '../machine.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'
import { type ExactKeys, measureExactKeys } from './exact-keys.js'
import { type FilteredKeys, measureFilteredKeys } from './filtered-keys.js'
import { type Hashes, measureHashes } from './hashes.js'
import { measurePlainMap, type PlainMap } from './plain-map.js'

/**
 * Question: what does the admission index cost in memory and time, and does it stay that way as it grows?
 *
 * Bars: 10 million keys with 5 % duplicates, no wrong verdict; at most 64 bytes per key; the time of a request at 10
 * million at most twice that at 1 million (caches are left behind on the way, nothing else may grow); no pause of
 * more than 2 ms. Beside it: a Map, SipHash and SHA-256.
 */
export interface AdmissionIndexOptions {
  readonly checkout: string
  /** Distinct keys, a multiple of 2,000. */
  readonly keys: number
}

export interface AdmissionIndexResult extends Provenance {
  readonly exact: ExactKeys
  readonly filtered: readonly FilteredKeys[]
  readonly hashes: Hashes
  readonly plain_map: PlainMap
}

const FILTERED_KEYS = 2_400_000
const FILTERED_EXACT_KEYS_MAX = 400_000
const PLAIN_MAP_KEYS = 1_000_000

/** Prints tables and writes bench/results/admission-index.json. Needs some 1 GB of memory and a minute. */
export async function admissionIndex({ checkout, keys }: AdmissionIndexOptions): Promise<AdmissionIndexResult> {
  const exact = await measureExactKeys(keys)
  const filtered = [
    await measureFilteredKeys(FILTERED_KEYS, FILTERED_EXACT_KEYS_MAX, 1),
    await measureFilteredKeys(FILTERED_KEYS, FILTERED_EXACT_KEYS_MAX, 4),
  ]
  const result = {
    ...provenance(checkout),
    exact,
    filtered,
    hashes: measureHashes(),
    plain_map: measurePlainMap(PLAIN_MAP_KEYS),
  }
  writeResult(join(checkout, 'bench', 'results', 'admission-index.json'), result)
  print(result)
  return result
}

function print({ exact, filtered, hashes, plain_map: plainMap }: AdmissionIndexResult): void {
  const marks = exact.marks.filter((_, i) => [1, 9, 19].includes(i))
  const rows = [
    ['', ...marks.map(({ keys }) => `${millions(keys)} M keys`), `Map, ${millions(plainMap.keys)} M`, 'bar'],
    [
      'ns a request',
      ...marks.map((mark) => mark.ns_per_request.toFixed(0)),
      plainMap.ns_per_request.toFixed(0),
      '<= 2 x',
    ],
    ['bytes a key, accounted', ...marks.map((mark) => mark.accounted_bytes_per_key.toFixed(1)), '', '<= 64'],
    [
      'bytes a key, resident',
      ...marks.map((mark) => mark.resident_bytes_per_key.toFixed(1)),
      plainMap.resident_bytes_per_key.toFixed(1),
      '',
    ],
  ]
  const facts = [
    ['wrong verdicts', `${exact.wrong_verdicts} of ${exact.keys + exact.duplicates}`, '0'],
    ['resident bytes a key, collected', exact.resident_bytes_per_key_collected.toFixed(1), '<= 64'],
    ['look-up of a known key, ns', exact.lookup_hit_ns.toFixed(0), ''],
    ['look-up of a new key, ns', exact.lookup_miss_ns.toFixed(0), ''],
    [`longest 100 requests, ms, quickest of ${exact.passes} passes`, exact.longest_100_requests_ms.toFixed(2), '<= 2'],
    ['longest 100 requests of all, ms', exact.longest_100_requests_once_ms.toFixed(2), ''],
    ['longest collection, ms', exact.longest_collection_ms.toFixed(2), ''],
    ['longest insertion into the Map, ms', plainMap.longest_insertion_ms.toFixed(0), ''],
  ]
  const filters = [
    ['filters over 24 h', ...filtered.map((one) => `${one.filters} of ${one.period_hours} h`)],
    ['keys, exact', ...filtered.map((one) => `${millions(one.keys)} M, ${millions(one.exact_keys)} M`)],
    ['bits a filtered key', ...filtered.map((one) => one.filter_bits_per_key.toFixed(1))],
    ['new keys asked about for nothing', ...filtered.map((one) => `${(one.false_maybe_share * 100).toFixed(2)} %`)],
    ['look-up of a new key, ns', ...filtered.map((one) => one.lookup_new_ns.toFixed(0))],
    ['ns a request', ...filtered.map((one) => one.ns_per_request.toFixed(0))],
    ['longest 100 requests, ms', ...filtered.map((one) => one.longest_100_requests_ms.toFixed(2))],
    ['wrong verdicts', ...filtered.map((one) => String(one.wrong_verdicts))],
  ]
  const ns = [
    [`ns, body of ${hashes.body_bytes} bytes`, 'min', 'median', 'max'],
    ...Object.entries({
      'body fingerprint': hashes.body_fingerprint,
      'SipHash-2-4': hashes.body_siphash_2_4,
      'SHA-256': hashes.body_sha256,
      'Idempotency-Key': hashes.key_hash,
    }).map(([name, { min, median, max }]) => [name, min.toFixed(0), median.toFixed(0), max.toFixed(0)]),
  ]
  process.stdout.write(`\n${[rows, facts, filters, ns].map(table).join('\n')}\n`)
}

const millions = (keys: number): string => (keys / 1e6).toFixed(1)
