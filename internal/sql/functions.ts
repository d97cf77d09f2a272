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
  coalesce ifNull nullIf assumeNotNull toNullable isNullable firstNonDefault transform
  greatest least clamp widthBucket bar
  round roundBankers roundDown floor ceil ceiling trunc truncate sign sqrt cbrt pow power exp exp2 exp10
  log log2 log10 log1p ln pi e hypot sin cos tan asin acos atan atan2 sinh cosh tanh degrees radians gcd lcm
  rand rand32 rand64 randCanonical
  isNaN isFinite isInfinite ifNotFinite
  bitAnd bitOr bitXor bitNot bitShiftLeft bitShiftRight bitTest bitCount
  divideDecimal multiplyDecimal toDecimalString
  toTypeName materialize identity toLowCardinality
  cast _cast accurateCast accurateCastOrNull
  toString toFixedString toBool generateUUIDv4
`)

const CONVERTED = words(`
  Float32 Float64 Decimal32 Decimal64 Decimal128 Decimal256 Int8 Int16 Int32 Int64 Int128 Int256
  UInt8 UInt16 UInt32 UInt64 UInt128 UInt256 Date Date32 DateTime DateTime64 UUID IPv4 IPv6
`)
const CONVERSIONS = CONVERTED.flatMap((type) => ['', 'OrNull', 'OrZero', 'OrDefault'].map((or) => `to${type}${or}`))

const TEXTS = words(`
  empty notEmpty length lengthUTF8 char_length character_length octet_length ascii char
  lower upper lcase ucase lowerUTF8 upperUTF8 initcap initcapUTF8 reverse reverseUTF8
  concat concatAssumeInjective concatWithSeparator concat_ws format
  substring substr mid substringUTF8 substringIndex substringIndexUTF8 left right leftUTF8 rightUTF8
  trim trimLeft trimRight trimBoth ltrim rtrim translate translateUTF8
  position positionCaseInsensitive positionUTF8 positionCaseInsensitiveUTF8 locate countSubstrings
  countSubstringsCaseInsensitive multiSearchAny multiSearchAnyCaseInsensitive multiSearchFirstIndex hasToken
  startsWith endsWith startsWithUTF8 endsWithUTF8
  replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne extract extractAll extractGroups extractAllGroups
  regexpExtract countMatches countMatchesCaseInsensitive
  splitByChar splitByString splitByRegexp splitByWhitespace alphaTokens
  hex unhex base64Encode base64Decode encodeURLComponent decodeURLComponent domain domainWithoutWWW topLevelDomain
  MD5 SHA1 SHA256 halfMD5 cityHash64 sipHash64 xxHash64 soundex isValidUTF8 toValidUTF8
  JSONHas JSONLength JSONType JSONExtractString JSONExtractInt JSONExtractUInt JSONExtractFloat JSONExtractBool
  JSONExtractRaw JSONExtractArrayRaw JSONExtractKeys JSON_VALUE JSON_QUERY JSON_EXISTS toJSONString
  simpleJSONHas simpleJSONExtractString simpleJSONExtractInt simpleJSONExtractFloat
  formatReadableQuantity formatReadableDecimalSize formatReadableSize formatReadableTimeDelta
`)

const TIMES = words(`
  now now64 today yesterday current_date curdate current_timestamp UTCTimestamp
  toYear toQuarter toMonth toWeek toISOWeek toISOYear toYearWeek yearweek toDayOfYear toDayOfMonth toDayOfWeek
  toHour toMinute toSecond toMillisecond toMicrosecond toDaysInMonth
  year quarter month week day dayofmonth dayofweek dayofyear hour minute second
  toYYYYMM toYYYYMMDD toYYYYMMDDhhmmss YYYYMMDDToDate YYYYMMDDhhmmssToDateTime
  toUnixTimestamp toUnixTimestamp64Second toUnixTimestamp64Milli toUnixTimestamp64Micro toUnixTimestamp64Nano
  fromUnixTimestamp from_unixtime fromUnixTimestamp64Second fromUnixTimestamp64Milli fromUnixTimestamp64Micro
  fromUnixTimestamp64Nano toModifiedJulianDay fromModifiedJulianDay toDaysSinceYearZero
  toStartOfYear toStartOfISOYear toStartOfQuarter toStartOfMonth toMonday toStartOfWeek toStartOfDay toStartOfHour
  toStartOfMinute toStartOfSecond toStartOfMillisecond toStartOfFiveMinutes toStartOfTenMinutes
  toStartOfFifteenMinutes toStartOfInterval date_bin timeSlot
  toLastDayOfMonth last_day toLastDayOfWeek toTime toTimeWithFixedDate
  toTimeZone timeZone timezone serverTimezone timezoneOf timezoneOffset toUTCTimestamp fromUTCTimestamp
  toRelativeSecondNum toRelativeMinuteNum toRelativeHourNum toRelativeDayNum toRelativeWeekNum toRelativeMonthNum
  toRelativeQuarterNum toRelativeYearNum toMonthNumSinceEpoch toYearNumSinceEpoch
  dateTrunc date_trunc dateDiff date_diff timestampdiff timestamp_diff timeDiff dateName monthName age
  formatDateTime formatDateTimeInJodaSyntax date_format str_to_date
  parseDateTime parseDateTimeOrNull parseDateTimeOrZero parseDateTimeInJodaSyntax parseDateTimeInJodaSyntaxOrNull
  parseDateTimeBestEffort parseDateTimeBestEffortOrNull parseDateTimeBestEffortOrZero parseDateTimeBestEffortUS
  parseDateTime64BestEffort parseDateTime64BestEffortOrNull parseDateTime64BestEffortOrZero
  dateAdd date_add dateSub date_sub timestampAdd timestamp_add timestampSub timestamp_sub addDate subDate
  addYears addQuarters addMonths addWeeks addDays addHours addMinutes addSeconds addMilliseconds addInterval
  subtractYears subtractQuarters subtractMonths subtractWeeks subtractDays subtractHours subtractMinutes
  subtractSeconds subtractMilliseconds subtractInterval
  toIntervalYear toIntervalQuarter toIntervalMonth toIntervalWeek toIntervalDay toIntervalHour toIntervalMinute
  toIntervalSecond toIntervalMillisecond toIntervalMicrosecond toIntervalNanosecond
  makeDate makeDate32 makeDateTime makeDateTime64
`)

const LISTS = words(`
  has hasAny hasAll hasSubstr indexOf countEqual arrayDistinct arraySort arrayReverseSort arrayReverse arrayConcat
  arraySlice arrayStringConcat arrayJoin arrayUniq arraySum arrayMin arrayMax arrayAvg arrayProduct arrayDifference
  arrayCumSum arrayZip arrayEnumerate arrayEnumerateUniq arrayElementOrNull arrayFlatten flatten arrayCompact
  arrayIntersect arrayPushBack arrayPushFront arrayPopBack arrayPopFront
  mapKeys mapValues mapContains mapContainsKey mapFromArrays mapConcat tupleNames
`)

const SUMMARIES = words(`
  count sum avg min max any any_value anyLast argMin argMax min_by max_by avgWeighted sumWithOverflow sumKahan
  uniq uniqExact uniqCombined uniqCombined64 uniqHLL12
  median medianExact medianExactLow medianExactHigh medianTDigest medianTiming
  quantile quantileExact quantileExactLow quantileExactHigh quantileExactInclusive quantileExactExclusive
  quantileTDigest quantileTiming quantileDeterministic
  quantiles quantilesExact quantilesExactInclusive quantilesExactExclusive quantilesTDigest quantilesTiming
  stddevPop stddevSamp varPop varSamp stddev_pop stddev_samp var_pop var_samp std stddev covarPop covarSamp
  covar_pop covar_samp corr skewPop skewSamp kurtPop kurtSamp entropy simpleLinearRegression
  groupArray groupUniqArray groupConcat group_concat string_agg array_agg groupBitAnd groupBitOr groupBitXor
  topK topKWeighted histogram first_value last_value
`)

const WINDOWS = words(`
  row_number rank dense_rank denseRank percent_rank percentRank ntile lag lead lagInFrame leadInFrame nth_value
  cume_dist
`)

const FACTS = words('version revision currentDatabase database current_database currentSchemas grouping')

/** Functions that the engine makes of `count(DISTINCT …)`, `… FILTER (WHERE …)` and the like. */
const COMBINED = ['If', 'Distinct', 'DistinctIf', 'OrNull', 'OrDefault', 'IfOrNull', 'Array', 'ArrayIf']

/** Of each row, as `system.functions` shows them: operators are written as signs. */
export const PLAIN_FUNCTIONS = [...VALUES, ...CONVERSIONS, ...TEXTS, ...TIMES, ...LISTS, ...FACTS]
export const AGGREGATE_FUNCTIONS = [...SUMMARIES, ...WINDOWS]

const ALLOWED: ReadonlySet<string> = new Set(
  [
    ...OPERATORS,
    ...PLAIN_FUNCTIONS,
    ...AGGREGATE_FUNCTIONS,
    ...SUMMARIES.flatMap((name) => COMBINED.map((suffix) => `${name}${suffix}`)),
  ].map((name) => name.toLowerCase()),
)

/** In any case: the engine takes some names in any case, and no two that differ only in it do different things. */
export const isAllowedFunction = (name: string): boolean => ALLOWED.has(name.toLowerCase())

/** Functions whose second argument, if it is a name, may be that of a table. */
export const isMembership = (name: string): boolean => ['in', 'notin'].includes(name.toLowerCase())

/** Functions whose second argument is a type. */
export const isCast = (name: string): boolean =>
  ['cast', '_cast', 'accuratecast', 'accuratecastornull'].includes(name.toLowerCase())

/** Types of plain values, as `system.data_type_families` shows them. */
export const PLAIN_TYPES = [
  ...words('Nullable LowCardinality Array Tuple Map String FixedString Bool Decimal'),
  ...CONVERTED,
]

const TYPE_WORDS: ReadonlySet<string> = new Set(
  [
    ...PLAIN_TYPES,
    ...words('UTC Numeric varchar char text integer int bigint smallint tinyint float double real boolean bool'),
    ...words('timestamp signed unsigned'),
  ].map((name) => name.toLowerCase()),
)

/** Whether a type is made of plain ones. Time zones are texts within a type. */
export function isAllowedType(type: string): boolean {
  const withoutZones = type.replace(/\\?'[A-Za-z_+\-/0-9]{1,64}\\?'/g, '')
  if (!/^[A-Za-z0-9(), ]*$/.test(withoutZones)) return false
  return (withoutZones.match(/[A-Za-z]\w*/g) ?? []).every((word) => TYPE_WORDS.has(word.toLowerCase()))
}
