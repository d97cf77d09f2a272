-- Bulk load for wrk: one NDJSON POST a request, each event id and the Idempotency-Key its own.
-- Arguments: file of the request (see writeBulk in requests.ts), seed, ignored.

local head, parts, length = nil, {}, 0
local count = 0

-- Until the one process ends no first half comes twice: it counts, and its start is of the seed.
local run

function init(args)
  math.randomseed(tonumber(args[2]))
  run = string.format('%04x%04x', math.random(0, 65535), math.random(0, 65535))
  local text = {}
  for line in io.lines(args[1]) do
    if head == nil then
      head = line:gsub('\t', '\r\n')
    else
      text[#text + 1] = line .. '\n'
    end
  end
  for part in (table.concat(text) .. '\t'):gmatch('([^\t]*)\t') do
    parts[#parts + 1] = part
    length = length + #part
  end
  head = head .. '\r\nContent-Length: ' .. (length + (#parts - 1) * 18) .. '\r\nIdempotency-Key: '
end

function request()
  local half = string.format('%s-%04x-4%03x', run, math.floor(count / 4096), count % 4096)
  count = count + 1
  -- One copy of 400 KB, so that the generator costs little beside what it asks for.
  return head .. half .. '-a000-000000000000\r\n\r\n' .. table.concat(parts, half)
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nLOAD {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"status":%d,"socket":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end
