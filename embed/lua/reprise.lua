-- Reprise for LuaJIT and LÖVE. Wraps the library for C (npm run build:c), with steps as tables and batches as arrays. docs/embed/protocol.md explains the texts
-- and numbers.
local ffi = require("ffi")

-- The C types of elements by dtype number, as in reprise.h. Text has no C type.
local TYPES = { [0] = "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double", "float", "float" }
local BOOL, FLOAT = 0, 9 -- the numbers of integers are between these two
local HALVES = { [11] = "f16", [12] = "bf16" } -- half floats, whose arrays have elements of type float
-- The least and the greatest number of each integer type, as 64-bit integers.
local MIN = { -128LL, 0LL, -32768LL, 0LL, -2147483648LL, 0LL, -9223372036854775807LL - 1, 0LL }
local MAX = { 127ULL, 255ULL, 32767ULL, 65535ULL, 2147483647ULL, 4294967295ULL, 9223372036854775807ULL, 18446744073709551615ULL }
local INT64, UINT64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local WHOLE = 2 ^ 31 - 1 -- the largest number of a writer, lane, table or view, and the largest count of steps or entries
local STEP = -1
local ENDS = { ended = 1, truncated = 2, terminated = 3 }

local Replay = {}
Replay.__index = Replay
local C

-- Raises an error without a file position, so that the message is only the text.
local function refuse(text) error(text, 0) end

local function refused() refuse(ffi.string(C.reprise_error())) end

-- Returns the result of a call; raises an error for a code.
local function did(result)
  if result < 0 then refused() end
  return result
end

-- Returns the leaves of a packed step: their places, and pointers of their types.
local function leaves(replay)
  local step = C.reprise_columns(replay.handle, STEP)
  if step == nil then refused() end
  replay.step_bytes = step.bytes
  for i = 0, step.columns - 1 do
    local column = step.column[i]
    local name = TYPES[column.dtype]
    local leaf = { path = ffi.string(column.name), offset = column.offset, bytes = column.bytes, max_bytes = column.max_bytes, pointer = name and ffi.typeof(name .. "*") }
    leaf.type, leaf.is_bool, leaf.is_whole = name, column.dtype == BOOL, column.dtype > BOOL and column.dtype < FLOAT
    leaf.min, leaf.max, leaf.is_float = MIN[column.dtype], MAX[column.dtype], name == "float"
    leaf.half = HALVES[column.dtype]
    leaf.holding = name and "a number that fits in " .. (leaf.half or name)
    leaf.count = leaf.bytes / (name and ffi.sizeof(name) or 4 + math.ceil(leaf.max_bytes / 4) * 4)
    replay.leaves[i + 1] = leaf
    replay.is_leaf[leaf.path] = true
  end
end

local function opened(handle)
  if handle == nil then refused() end
  local replay = setmetatable({ handle = ffi.gc(handle, C.reprise_free), leaves = {}, is_leaf = {}, batches = {}, room = 0 }, Replay)
  leaves(replay)
  return replay
end

local function no_value(leaf, what, value) refuse(("INVALID_DATA: %q must be %s, got %s"):format(leaf.path, what, tostring(value))) end

-- Converts an FFI number to a Lua number; 64-bit integers stay unchanged. Returns nil if the value is not a number.
local function number_of(value)
  if type(value) ~= "cdata" or ffi.istype(INT64, value) or ffi.istype(UINT64, value) then return value end
  return tonumber(value)
end

-- Whether a 64-bit integer is in a type's range. Signed and unsigned integers are compared separately, because FFI would confuse them.
local function holds(leaf, value)
  if ffi.istype(UINT64, value) then return value <= leaf.max end
  return value >= leaf.min and (value < 0 or ffi.cast(UINT64, value) <= leaf.max)
end

-- Rounds a number that is not exact as a float to its odd neighbour, so that a number close to a tie of half floats does not become the tie.
local function write_odd(values, i, value)
  local bits = ffi.cast("uint32_t*", values) + i
  if math.abs(values[i]) > math.abs(value) then bits[0] = bits[0] - 1 end
  if bits[0] % 2 == 0 then bits[0] = bits[0] + 1 end
end

-- Writes the i-th number of a leaf. Rounds floats, and rejects values that the type of the leaf cannot hold.
local function write_number(leaf, at, i, given)
  local value = number_of(given)
  local kind = type(value)
  if leaf.is_bool then
    if kind ~= "boolean" and (value == nil or value ~= 0 and value ~= 1) then no_value(leaf, "true or false", given) end
  elseif kind ~= "number" and kind ~= "cdata" then
    no_value(leaf, "a number", given)
  end
  if leaf.is_whole and kind == "cdata" and not holds(leaf, value) then no_value(leaf, leaf.holding, given) end
  local values = ffi.cast(leaf.pointer, at)
  values[i] = value
  if leaf.is_whole and kind == "number" and tonumber(values[i]) ~= value then no_value(leaf, leaf.holding, given) end
  if leaf.is_float and kind == "number" and math.abs(values[i]) == math.huge and math.abs(value) ~= math.huge then no_value(leaf, leaf.holding, given) end
  if leaf.half and kind == "number" and values[i] ~= value and value == value then write_odd(values, i, value) end
end

local function write_text(leaf, at, i, value)
  if type(value) ~= "string" then no_value(leaf, "a string", value) end
  if #value > leaf.max_bytes then refuse(("INVALID: %q must have at most %d bytes, got %d"):format(leaf.path, leaf.max_bytes, #value)) end
  at = at + i * (leaf.bytes / leaf.count)
  ffi.cast("uint32_t*", at)[0] = #value
  ffi.copy(at + 4, value, #value)
end

-- Packs a table of values by their paths: numbers, booleans, strings, or flat lists of them.
local function pack(replay, step, at)
  if type(step) ~= "table" then refuse(("INVALID: the step must be a table, got %s"):format(tostring(step))) end
  for _, leaf in ipairs(replay.leaves) do
    local value = step[leaf.path]
    if value == nil then refuse(("INVALID: the step must have the leaf %q"):format(leaf.path)) end
    if type(value) ~= "table" then value = { value } end
    if #value ~= leaf.count then refuse(("INVALID: %q must have %d values, got %d"):format(leaf.path, leaf.count, #value)) end
    for i = 1, leaf.count do
      local write = leaf.pointer and write_number or write_text
      write(leaf, at + leaf.offset, i - 1, value[i])
    end
  end
  for name in pairs(step) do
    if not replay.is_leaf[name] then refuse(("INVALID: the step has %q, which is not a leaf of the spec"):format(tostring(name))) end
  end
end

-- Packs n steps one after the other, into memory that later steps reuse.
local function packed(replay, steps, n)
  local size = n * replay.step_bytes
  if replay.room < size then replay.room, replay.staged = size, ffi.new("uint8_t[?]", size) end
  local bytes = replay.staged
  ffi.fill(bytes, size)
  for i = 1, n do pack(replay, steps[i], bytes + (i - 1) * replay.step_bytes) end
  return bytes
end

-- Returns the number of steps in a list; 0 for a single step. Rejects a list with a hole, because the steps after it would be lost.
local function listed(steps)
  local some, most, named = 0, 0, false
  for key in pairs(steps) do
    if type(key) == "number" then some, most = some + 1, math.max(most, key) else named = true end
  end
  if some == 0 or (some == most and not named) then return some end
  if named then refuse("INVALID: the steps must be one step or a list of steps, got a table with both names and numbers as keys") end
  for i = 1, most do
    if steps[i] == nil then refuse(("INVALID: the list of steps must have no holes, got nil for step %d of %d"):format(i, most)) end
  end
  return refuse("INVALID: the list of steps must be numbered from 1")
end

-- Checks the range of a number, because the library would truncate a larger one.
local function whole(what, value)
  local number = (type(value) == "number" or type(value) == "cdata") and tonumber(value) or -1
  if not (number >= 0 and number <= WHOLE) or number % 1 ~= 0 then
    refuse(("INVALID: %s must be a whole number from 0 to %d, got %s"):format(what, WHOLE, tostring(value)))
  end
  return number
end

-- Returns the library's Replay. Raises an error if the Replay was freed.
local function live(replay)
  if replay.freed then refuse("CLOSED: the Replay was freed. Create a new one") end
  return replay.handle
end

-- Appends a step, or a list of consecutive steps. Returns the number of items that wait for a rate limiter.
function Replay:append(steps, writer)
  local n = type(steps) == "table" and listed(steps) or 0
  if n == 0 then n, steps = 1, { steps } end
  return did(C.reprise_append(live(self), whole("writer", writer or 0), packed(self, steps, n), n * self.step_bytes, nil, nil))
end

-- Ends the episode of a lane. `how`: "ended", "truncated" or "terminated". `final`: the final observation as a step, or nil. Returns the number of items that
-- wait for a rate limiter.
function Replay:finish(how, final, writer, lane)
  local last = final and packed(self, { final }, 1) or nil
  return did(C.reprise_end(live(self), whole("writer", writer or 0), whole("lane", lane or 0), ENDS[how] or 0, last))
end

-- Creates an item from the last `length` steps of a lane. Returns true if the item is in its table, or false if it waits for the rate limiter.
function Replay:item(table, length, priority, writer, lane)
  return did(C.reprise_item(live(self), whole("writer", writer or 0), whole("lane", lane or 0), whole("table", table), whole("length", length), priority or 1)) == 1
end

-- Copies a column to an array of its own, which later batches of the view use again if it is large enough.
local function copied(batch, column, entries)
  local name, bytes = ffi.string(column.name), entries * column.bytes
  local kind = TYPES[column.dtype] or "uint8_t"
  local count = bytes / ffi.sizeof(kind)
  local array = batch[name]
  if array == nil or ffi.sizeof(array) < bytes then
    array = ffi.new(kind .. "[?]", count)
    batch[name] = array
  end
  ffi.copy(array, column.data, bytes)
end

local function shown(self, view, count)
  local batch = self.batches[view] or {}
  self.batches[view] = batch
  if count == 0 then return batch, count end
  local told = C.reprise_columns(self.handle, view)
  if told == nil then refused() end
  for i = 0, told.columns - 1 do copied(batch, told.column[i], count) end
  return batch, count
end

-- Draws up to n entries of a view. Returns the arrays of the columns by name, and the number of entries. The next draw of the same view fills the same arrays.
function Replay:sample(view, n, beta)
  view = whole("view", view)
  return shown(self, view, did(C.reprise_sample(live(self), view, whole("n", n), beta or 0)))
end

-- Returns the next items of an epoch, at most n, in the form of `sample`; 0 entries mean that the epoch is over. Each item that existed when the epoch began
-- occurs once. Changes `state`.
function Replay:epoch(view, n, state)
  view = whole("view", view)
  return shown(self, view, did(C.reprise_epoch(live(self), view, whole("n", n), state)))
end

-- Sets priorities of items by key. Both arguments are arrays of doubles. Returns how many of the items exist.
function Replay:update(table, keys, priorities, n) return did(C.reprise_update(live(self), whole("table", table), keys, priorities, whole("n", n))) end

-- Deletes items by key. Returns how many existed.
function Replay:delete(table, keys, n) return did(C.reprise_delete(live(self), whole("table", table), keys, whole("n", n))) end

-- Returns the numbers of a table by the names in reprise.h.
function Replay:stats(table)
  local numbers = C.reprise_stats(live(self), whole("table", table))
  if numbers == nil then refused() end
  return ffi.new("reprise_numbers", numbers[0])
end

-- Returns a snapshot as a string.
function Replay:save()
  local chunks = {}
  local chunk = C.reprise_save(live(self), 1)
  while chunk ~= nil and chunk.bytes > 0 do
    chunks[#chunks + 1] = ffi.string(chunk.at, chunk.bytes)
    chunk = C.reprise_save(self.handle, 0)
  end
  if chunk == nil then refused() end
  return table.concat(chunks)
end

-- Frees the memory of the Replay immediately instead of when it is collected.
function Replay:free()
  local handle = ffi.gc(live(self), nil)
  self.freed = true
  return did(C.reprise_free(handle))
end

local reprise = {}

function reprise.create(text) return opened(C.reprise_create(text, #text)) end

-- Returns the initial state of epochs, an array of doubles. Its third element is the number of the epoch. Epochs are in slot order if `ordered` is true.
function reprise.epochs(seed, ordered) return ffi.new("double[6]", {ordered and 0 or 1, seed or 0}) end

-- Opens the Replay in a snapshot. The lines of `text` follow the lines of the snapshot.
function reprise.load(snapshot, text)
  return opened(C.reprise_load(snapshot, #snapshot, text, text and #text or 0))
end

-- Loads reprise.h, the only source of declarations, and libreprise.so from a folder.
function reprise.open(folder)
  if C == nil then
    local file = assert(io.open(folder .. "/reprise.h"))
    local header = file:read("*a"):gsub("#ifdef __cplusplus.-#endif", ""):gsub("\n#[^\n]*", "\n")
    file:close()
    ffi.cdef(header)
    C = ffi.load(folder .. "/libreprise.so")
    reprise.C = C
  end
  return reprise
end

return reprise
