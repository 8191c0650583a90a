-- Reprise for LuaJIT and LÖVE: the library for C (npm run build:c), with steps as tables and batches as arrays. docs/embedding.md says what the texts and numbers mean.
local ffi = require("ffi")

-- Types of elements by the numbers of reprise.h; text has none.
local TYPES = { [0] = "bool", "int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t", "float", "double" }
local BOOL, FLOAT = 0, 9 -- integers are between them
local STEP = -1
local ENDS = { ended = 1, truncated = 2, terminated = 3 }

local Replay = {}
Replay.__index = Replay
local C

-- Without a place in a file: the text is all that is said.
local function refuse(text) error(text, 0) end

local function refused() refuse(ffi.string(C.reprise_error())) end

-- What a call gave; a code is an error.
local function did(result)
  if result < 0 then refused() end
  return result
end

-- The leaves of a packed step: their places, and pointers of their types.
local function leaves(replay)
  local step = C.reprise_columns(replay.handle, STEP)
  if step == nil then refused() end
  replay.step_bytes = step.bytes
  for i = 0, step.columns - 1 do
    local column = step.column[i]
    local name = TYPES[column.dtype]
    local leaf = { path = ffi.string(column.name), offset = column.offset, bytes = column.bytes, max_bytes = column.max_bytes, pointer = name and ffi.typeof(name .. "*") }
    leaf.type, leaf.is_bool, leaf.is_whole = name, column.dtype == BOOL, column.dtype > BOOL and column.dtype < FLOAT
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

-- Floats are rounded; what an integer cannot hold is refused.
local function write_number(leaf, at, i, value)
  local kind = type(value)
  if leaf.is_bool then
    if kind ~= "boolean" and value ~= 0 and value ~= 1 then no_value(leaf, "true or false", value) end
  elseif kind ~= "number" and kind ~= "cdata" then
    no_value(leaf, "a number", value)
  end
  local values = ffi.cast(leaf.pointer, at)
  values[i] = value
  if leaf.is_whole and kind == "number" and tonumber(values[i]) ~= value then no_value(leaf, "a number that " .. leaf.type .. " holds", value) end
end

local function write_text(leaf, at, i, value)
  if type(value) ~= "string" then no_value(leaf, "a string", value) end
  if #value > leaf.max_bytes then refuse(("INVALID: %q must be at most %d bytes, got %d"):format(leaf.path, leaf.max_bytes, #value)) end
  at = at + i * (leaf.bytes / leaf.count)
  ffi.cast("uint32_t*", at)[0] = #value
  ffi.copy(at + 4, value, #value)
end

-- Packs a table of values by their paths: numbers, booleans, strings, or flat lists of them.
local function pack(replay, step, at)
  if type(step) ~= "table" then refuse(("INVALID: the step must be a table, got %s"):format(tostring(step))) end
  for _, leaf in ipairs(replay.leaves) do
    local value = step[leaf.path]
    if value == nil then refuse(("INVALID: the step must have %q"):format(leaf.path)) end
    if type(value) ~= "table" then value = { value } end
    if #value ~= leaf.count then refuse(("INVALID: %q must have %d values, got %d"):format(leaf.path, leaf.count, #value)) end
    for i = 1, leaf.count do
      local write = leaf.pointer and write_number or write_text
      write(leaf, at + leaf.offset, i - 1, value[i])
    end
  end
  for name in pairs(step) do
    if not replay.is_leaf[name] then refuse(("INVALID: the step has %q, which is no leaf"):format(tostring(name))) end
  end
end

-- Packs steps one behind the other, into memory that the next ones take again.
local function packed(replay, steps)
  local size = #steps * replay.step_bytes
  if replay.room < size then replay.room, replay.staged = size, ffi.new("uint8_t[?]", size) end
  local bytes = replay.staged
  ffi.fill(bytes, size)
  for i, step in ipairs(steps) do pack(replay, step, bytes + (i - 1) * replay.step_bytes) end
  return bytes
end

-- Appends a step, or a list of steps that follow each other. Items that wait.
function Replay:append(steps, writer)
  if type(steps) ~= "table" or steps[1] == nil then steps = { steps } end
  return did(C.reprise_append(self.handle, writer or 0, packed(self, steps), #steps * self.step_bytes, nil, nil))
end

-- Ends the episode of a lane: "ended", "truncated" or "terminated", with what was seen last. Items that wait.
function Replay:finish(how, final, writer, lane)
  return did(C.reprise_end(self.handle, writer or 0, lane or 0, ENDS[how] or 0, final and packed(self, { final }) or nil))
end

-- Makes an item of the last steps. Whether it is in its table; else it waits.
function Replay:item(table, length, priority, writer, lane)
  return did(C.reprise_item(self.handle, writer or 0, lane or 0, table, length, priority or 1)) == 1
end

-- An array of its own for a column, kept for the next batch of the view.
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

-- Draws up to n entries of a view: an array for each column by its name, and how many entries. The next draw of the same view fills the same arrays.
function Replay:sample(view, n, beta)
  local batch = self.batches[view] or {}
  self.batches[view] = batch
  local count = did(C.reprise_sample(self.handle, view, n, beta or 0))
  local told = C.reprise_columns(self.handle, view)
  if told == nil then refused() end
  for i = 0, told.columns - 1 do copied(batch, told.column[i], count) end
  return batch, count
end

-- New priorities of items by key, both arrays of doubles. How many were there.
function Replay:update(table, keys, priorities, n) return did(C.reprise_update(self.handle, table, keys, priorities, n)) end

-- Deletes items by key. How many were there.
function Replay:delete(table, keys, n) return did(C.reprise_delete(self.handle, table, keys, n)) end

-- The numbers of a table, by the names of reprise.h.
function Replay:stats(table)
  local numbers = C.reprise_stats(self.handle, table)
  if numbers == nil then refused() end
  return ffi.new("reprise_numbers", numbers[0])
end

-- A snapshot, as a string.
function Replay:save()
  local chunks = {}
  local chunk = C.reprise_save(self.handle, 1)
  while chunk ~= nil and chunk.bytes > 0 do
    chunks[#chunks + 1] = ffi.string(chunk.at, chunk.bytes)
    chunk = C.reprise_save(self.handle, 0)
  end
  if chunk == nil then refused() end
  return table.concat(chunks)
end

-- Gives its memory back at once; else the garbage collector does.
function Replay:free() return did(C.reprise_free(ffi.gc(self.handle, nil))) end

local reprise = {}

function reprise.create(text) return opened(C.reprise_create(text, #text)) end

-- The Replay of a snapshot; `text` has lines that stand behind its own.
function reprise.load(snapshot, text)
  return opened(C.reprise_load(snapshot, #snapshot, text, text and #text or 0))
end

-- Finds reprise.h, whose declarations are the only ones, and libreprise.so in a folder.
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
