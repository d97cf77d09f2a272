-- Load for wrk: one POST a request with an event id and an Idempotency-Key of its own.
-- Arguments: file of requests (see requests.ts), seed, mean pause of a connection between two requests in ms.

local heads, befores, betweens, afters = {}, {}, {}, {}
local firsts, lasts, traces = {}, {}, {}
local pool = 4096
local count, n, pause = 0, 0, 0

local function hex(digits)
  local text = ''
  while #text < digits do
    text = text .. string.format('%04x', math.random(0, 65535))
  end
  return text:sub(1, digits)
end

function init(args)
  math.randomseed(tonumber(args[2]))
  pause = tonumber(args[3])
  local head
  for line in io.lines(args[1]) do
    if head == nil then
      head = line:gsub('\t', '\r\n')
    else
      local before, between, after = line:match('^([^\t]*)\t([^\t]*)\t([^\t]*)$')
      count = count + 1
      befores[count], betweens[count], afters[count] = '\r\n\r\n' .. before, between, after
      local length = #before + 36 + #between + 32 + #after
      heads[count] = head .. '\r\nContent-Length: ' .. length .. '\r\nIdempotency-Key: '
    end
  end
  -- Halves of UUIDs: each pair of them is used once in 16 million requests.
  for i = 0, pool - 1 do
    firsts[i] = hex(8) .. '-' .. hex(4) .. '-4' .. hex(3) .. '-a'
    lasts[i] = hex(3) .. '-' .. hex(12)
    traces[i] = hex(32)
  end
end

function request()
  local i = n % pool
  local round = (n - i) / pool
  local j = (n + round) % pool
  local k = n % count + 1
  n = n + 1
  return heads[k] .. firsts[j] .. lasts[i]
    .. befores[k] .. firsts[i] .. lasts[j]
    .. betweens[k] .. traces[(n - n % 4) / 4 % pool]
    .. afters[k]
end

function delay()
  if pause == 0 then return 0 end
  return math.random(1, 2 * pause - 1)
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\nLOAD {"requests":%d,"micros":%d,"p50":%d,"p99":%d,"max":%d,"status":%d,"socket":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency.max,
    e.status, e.connect + e.read + e.write + e.timeout))
end
