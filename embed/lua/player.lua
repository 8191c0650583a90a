-- Plays a file of operations in the format of test/embed/operation.ts. `luajit player.lua LIBRARY FILE` prints the digest of all results.
-- `luajit player.lua LIBRARY --time FILE…` prints how long the timed operations of each file take. Calls the library directly, because files have packed steps.
package.path = arg[0]:match("^(.*/)") .. "?.lua"
local ffi = require("ffi")
local bit = require("bit")
local C = require("reprise").open(arg[1]).C
ffi.cdef("typedef struct { long seconds, nanoseconds; } reprise_time; int clock_gettime(int clock, reprise_time *time);")

local STEP, MONOTONIC, PASSES, CLOCK = -1, 1, 5, 255
local timed = arg[2] == "--time"
local file, handle, step_bytes
local digest = -1
local copies, copied = nil, 0

-- The table for the digest, which is a CRC-32 as in zlib.
local sums = ffi.new("int32_t[256]")
for i = 0, 255 do
  local sum = i
  for _ = 1, 8 do sum = bit.bxor(bit.rshift(sum, 1), bit.band(sum, 1) == 1 and bit.tobit(0xedb88320) or 0) end
  sums[i] = sum
end

local function fold(bytes, count)
  bytes = ffi.cast("const uint8_t*", bytes)
  local sum = digest
  for i = 0, count - 1 do sum = bit.bxor(bit.rshift(sum, 8), sums[bit.band(bit.bxor(sum, bytes[i]), 255)]) end
  digest = sum
end

local function refused() error(ffi.string(C.reprise_error()), 0) end

-- Adds the result of a call to the digest, and the name of its code if the call was refused. While time is measured, a refusal ends the program.
local function fold_result(result)
  if timed and result < 0 then refused() end
  if timed then return end
  fold(ffi.new("int32_t[1]", result), 4)
  if result < 0 then
    local word = ffi.string(C.reprise_error()):match("^[^:]*")
    fold(word, #word)
  end
end

local function show(view)
  local batch = C.reprise_columns(handle, view)
  if batch == nil then refused() end
  local last = 0
  for i = 0, batch.columns - 1 do
    local column = batch.column[i]
    local bytes = batch.entries * column.bytes
    if not timed then
      fold(column.data, bytes)
    else
      if last + bytes > copied then
        copied = 2 * (last + bytes)
        copies = ffi.new("uint8_t[?]", copied)
      end
      ffi.copy(copies + last, column.data, bytes)
      last = last + bytes
    end
  end
end

local function reload(lines, bytes)
  local chunks = {}
  local chunk = C.reprise_save(handle, 1)
  while chunk ~= nil and chunk.bytes > 0 do
    chunks[#chunks + 1] = ffi.string(chunk.at, chunk.bytes)
    chunk = C.reprise_save(handle, 0)
  end
  if chunk == nil then refused() end
  C.reprise_free(handle)
  local snapshot = table.concat(chunks)
  handle = C.reprise_load(snapshot, #snapshot, ffi.cast("const char*", lines), bytes)
  if handle == nil then refused() end
  return 0
end

-- The calls by the number of the operation. Each function receives the arguments, as numbers and as addresses in the payload; nil means no address.
local calls = {
  [0] = function(a, p) return C.reprise_append(handle, a[0], p[1], a[2] * step_bytes, p[3], p[4]) end,
  function(a, p) return C.reprise_end(handle, a[0], a[1], a[2], p[3]) end,
  function(a) return C.reprise_item(handle, a[0], a[1], a[2], a[3], a[4]) end,
  function(a) return C.reprise_sample(handle, a[0], a[1], a[2]) end,
  function(a, p) return C.reprise_update(handle, a[0], ffi.cast("const double*", p[1]), ffi.cast("const double*", p[2]), a[3]) end,
  function(a, p) return C.reprise_delete(handle, a[0], ffi.cast("const double*", p[1]), a[2]) end,
}
local SAMPLE, STATS, RELOAD = 3, 6, 7
local places = ffi.new("const uint8_t*[16]")

-- Plays the operation at an offset. Returns the offset of the next operation.
local function play(at)
  local call, arguments = file[at], file[at + 1]
  local addresses = ffi.cast("const uint16_t*", file + at + 2)[0]
  local bytes = ffi.cast("const uint32_t*", file + at + 4)[0]
  local a = ffi.cast("const double*", file + at + 8)
  local payload = at + 8 + 8 * arguments
  for i = 0, arguments - 1 do
    local is_address = bit.band(bit.rshift(addresses, i), 1) == 1 and a[i] >= 0
    places[i] = is_address and file + payload + a[i] or nil
  end
  if call == STATS then
    local numbers = C.reprise_stats(handle, a[0])
    if numbers == nil then refused() end
    fold_result(0)
    -- The bytes in use are left out, because they differ between hosts.
    if not timed then fold(numbers, ffi.offsetof("reprise_numbers", "used")) end
  elseif call == RELOAD then
    fold_result(reload(file + payload, bytes))
  else
    local result = calls[call](a, places)
    fold_result(result)
    if call == SAMPLE and result >= 0 then show(a[0]) end
  end
  return payload + math.ceil(bytes / 8) * 8
end

local function now()
  local time = ffi.new("reprise_time")
  ffi.C.clock_gettime(MONOTONIC, time)
  return tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
end

-- Returns the median time, in nanoseconds, of a pass over the following operations.
local function passes(from, count)
  local spent = {}
  for pass = 1, PASSES do
    local start, at = now(), from
    for _ = 1, count do at = play(at) end
    spent[pass] = now() - start
  end
  table.sort(spent)
  return spent[math.ceil(PASSES / 2)]
end

-- Plays a file to its end, or until the timed part has been measured.
local function play_file(path)
  local text = assert(io.open(path, "rb")):read("*a")
  file = ffi.cast("const uint8_t*", text)
  local head = ffi.cast("const uint32_t*", file)
  assert(text:sub(1, 4) == "RPOP" and head[1] == 1, "the file must be a file of operations for this version of the player")
  handle = C.reprise_create(ffi.cast("const char*", file + 16), head[3])
  if handle == nil then refused() end
  step_bytes = C.reprise_columns(handle, STEP).bytes
  local at = 16 + math.ceil(head[3] / 8) * 8
  for i = 1, head[2] do
    if file[at] == CLOCK then
      print(("%s  %.0f ns"):format(path:match("([^/]*)%.[^./]*$"), passes(at + 8, head[2] - i)))
      break
    end
    at = play(at)
  end
  C.reprise_free(handle)
  return text -- `file` points into this string, which must stay alive
end

for i = timed and 3 or 2, #arg do play_file(arg[i]) end
if not timed then print("digest " .. bit.tohex(bit.bnot(digest))) end
