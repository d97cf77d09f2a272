/**
 * The functions that a query may call, in lower case. Others are refused: the engine has functions that read
 * files (`file`), other tables (`joinGet`, `dictGet`), settings and the machine, or that cost time (`sleep`) and memory
 * (`range`, `repeat`) without reading anything.
 */

const words = (text: string): readonly string[] => text.trim().split(/\s+/)

/** `notLike` and the like are what operators become. */
const OPERATORS = words(`
  plus minus multiply divide intDiv intDivOrZero modulo moduloOrZero positiveModulo negate abs
  equals notEquals less lessOrEquals greater greaterOrEquals isDistinctFrom isNotDistinctFrom
  and or xor not in notIn exists
  like notLike ilike notILike match multiMatchAny
  isNull isNotNull isZeroOrNull
  tuple array map tupleElement arrayElement
  if multiIf caseWithExpression
`)

const VALUES = words(`
  coalesce ifNull nullIf assumeNotNull toNullable greatest least
  round roundBankers floor ceil ceiling trunc truncate sign sqrt pow power exp log log2 log10 ln
  divideDecimal multiplyDecimal
  toTypeName materialize identity
  cast _cast
  toString toFloat32 toFloat64 toDecimal32 toDecimal64 toDecimal128 toDecimal256
  toInt8 toInt16 toInt32 toInt64 toInt128 toInt256 toUInt8 toUInt16 toUInt32 toUInt64 toUInt128 toUInt256
  toFloat64OrNull toFloat64OrZero toInt64OrNull toInt64OrZero toUInt64OrNull toUInt64OrZero
  toDate toDate32 toDateTime toDateTime64 toDateOrNull toDateTimeOrNull toUUID
  parseDateTimeBestEffort parseDateTime64BestEffort parseDateTimeBestEffortOrNull parseDateTime64BestEffortOrNull
`)

const TEXTS = words(`
  empty notEmpty length lengthUTF8 char_length character_length
  lower upper lcase ucase lowerUTF8 upperUTF8 reverse concat concatWithSeparator concat_ws
  substring substr mid substringUTF8 left right leftUTF8 rightUTF8
  trim trimLeft trimRight trimBoth ltrim rtrim
  position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 locate
  startsWith endsWith replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne extract extractAll
  splitByChar splitByString hex formatReadableQuantity formatReadableDecimalSize
`)

const TIMES = words(`
  now now64 today yesterday
  toYear toQuarter toMonth toWeek toISOWeek toISOYear toYearWeek toDayOfYear toDayOfMonth toDayOfWeek
  toHour toMinute toSecond year quarter month week day dayofmonth dayofweek dayofyear hour minute second
  toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss toUnixTimestamp toUnixTimestamp64Milli fromUnixTimestamp
  fromUnixTimestamp64Milli fromUnixTimestamp64Micro fromUnixTimestamp64Nano
  toStartOfYear toStartOfISOYear toStartOfQuarter toStartOfMonth toMonday toStartOfWeek toStartOfDay toStartOfHour
  toStartOfMinute toStartOfSecond toStartOfFiveMinutes toStartOfTenMinutes toStartOfFifteenMinutes toStartOfInterval
  toLastDayOfMonth toLastDayOfWeek toTime toTimeZone timeZone timezone timezoneOf timezoneOffset
  toRelativeDayNum toRelativeHourNum toRelativeWeekNum toRelativeMonthNum
  dateTrunc date_trunc dateDiff date_diff timestampdiff timestamp_diff dateName monthName formatDateTime date_format
  dateAdd date_add dateSub date_sub timestampAdd timestamp_add timestampSub timestamp_sub age
  addYears addQuarters addMonths addWeeks addDays addHours addMinutes addSeconds addInterval
  subtractYears subtractQuarters subtractMonths subtractWeeks subtractDays subtractHours subtractMinutes
  subtractSeconds subtractInterval
  toIntervalYear toIntervalQuarter toIntervalMonth toIntervalWeek toIntervalDay toIntervalHour toIntervalMinute
  toIntervalSecond toIntervalMillisecond makeDate makeDateTime
`)

const LISTS = words(`
  has hasAny hasAll indexOf countEqual arrayDistinct arraySort arrayReverseSort arrayReverse arrayConcat arraySlice
  arrayStringConcat arrayJoin arrayUniq arraySum arrayMin arrayMax arrayAvg
  mapKeys mapValues mapContains mapContainsKey
`)

const SUMMARIES = words(`
  count sum avg min max any anyLast argMin argMax uniq uniqExact uniqCombined uniqHLL12
  sumWithOverflow median medianExact quantile quantileExact quantiles quantilesExact quantileTDigest quantileTiming
  stddevPop stddevSamp varPop varSamp stddev_pop stddev_samp var_pop var_samp covarPop covarSamp corr
  groupArray groupUniqArray topK first_value last_value
`)

const WINDOWS = words(`
  row_number rank dense_rank denseRank percent_rank percentRank ntile lag lead lagInFrame leadInFrame nth_value
  cume_dist
`)

const FACTS = words('version currentDatabase database current_database currentSchemas grouping')

/** Functions that the engine makes of `count(DISTINCT …)`, `… FILTER (WHERE …)` and the like. */
const COMBINED = ['If', 'Distinct', 'DistinctIf', 'OrNull', 'OrDefault', 'IfOrNull']

const ALLOWED: ReadonlySet<string> = new Set(
  [
    ...OPERATORS,
    ...VALUES,
    ...TEXTS,
    ...TIMES,
    ...LISTS,
    ...SUMMARIES,
    ...SUMMARIES.flatMap((name) => COMBINED.map((suffix) => `${name}${suffix}`)),
    ...WINDOWS,
    ...FACTS,
  ].map((name) => name.toLowerCase()),
)

/** In any case: the engine takes some names in any case, and no two that differ only in it do different things. */
export const isAllowedFunction = (name: string): boolean => ALLOWED.has(name.toLowerCase())

/** Functions whose second argument, if it is a name, may be that of a table. */
export const isMembership = (name: string): boolean => ['in', 'notin'].includes(name.toLowerCase())

export const isCast = (name: string): boolean => ['cast', '_cast'].includes(name.toLowerCase())

const TYPE_WORDS: ReadonlySet<string> = new Set(
  words(`
    Nullable LowCardinality Array Tuple Map String FixedString Bool UUID Date Date32 DateTime DateTime64 UTC
    Int8 Int16 Int32 Int64 Int128 Int256 UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Float32 Float64
    Decimal Decimal32 Decimal64 Decimal128 Decimal256 Numeric
    varchar char text integer int bigint smallint tinyint float double real boolean timestamp signed unsigned
  `).map((name) => name.toLowerCase()),
)

/** Types of plain values. Time zones are texts within a type. */
export function isAllowedType(type: string): boolean {
  const withoutZones = type.replace(/\\?'[A-Za-z_+\-/0-9]{1,64}\\?'/g, '')
  if (!/^[A-Za-z0-9(), ]*$/.test(withoutZones)) return false
  return (withoutZones.match(/[A-Za-z]\w*/g) ?? []).every((word) => TYPE_WORDS.has(word.toLowerCase()))
}
