-- Tests the wrapper for LuaJIT: values of all types are stored and returned, and invalid calls throw errors with a text.
package.path = arg[1] .. "/?.lua"
local reprise = require("reprise").open(arg[2])
local ffi = require("ffi")

local TEXT = [[
leaf observation f32 2
leaf action i32
leaf reward f64
leaf done bool
leaf count u64
leaf words text 5 2
leaf screen u8 16 17 packed screens stack 2 ratio 8
table memory size 20
writer keep 8
rule memory nStep 2
table queue size 5
view memory transitions gamma 0.5
view queue items length 2
seed 1]]

-- Returns two screens; the second is also the first screen of the next step.
local function screens(i)
  local values = {}
  for k = 1, 2 * 272 do values[k] = math.floor(k % 272 / 20) end
  values[1 + i], values[272 + 1 + i + 1] = 200, 200
  return values
end

local function step(i)
  return { observation = { i, -i }, action = i, reward = i + 0.5, done = i % 2 == 0, count = i, words = { "word" .. i, "" }, screen = screens(i) }
end

local function refused(pattern, call, ...)
  local ok, why = pcall(call, ...)
  assert(not ok and why:match("^[A-Z_]+: ") and why:match(pattern), ("%s is not %s"):format(tostring(why), pattern))
end

local replay = reprise.create(TEXT)
for i = 1, 3 do assert(replay:append(step(i)) == 0) end
assert(replay:append { step(4), step(5) } == 0)
assert(replay:item(1, 2) == true)
assert(replay:finish("terminated") == 0)
assert(replay:stats(0).size == 5 and replay:stats(1).size == 1)

local items, n = replay:sample(1, 1)
assert(n == 1 and items.action[0] == 4 and items.action[1] == 5 and items.reward[1] == 5.5)
assert(items.observation[2] == 5 and items.observation[3] == -5 and items.done[0] == true and items.done[1] == false)
for k, value in ipairs(screens(4)) do assert(items.screen[k - 1] == value) end
assert(items.count[0] == 4ULL and ffi.string(items.words + 4, 5) == "word4")

local batch, most = replay:sample(0, 8)
assert(most == 8 and select(2, replay:sample(0, 4)) == 4)
for i = 0, 3 do assert(batch.action[i] >= 1 and batch.action[i] <= 5 and batch.discounts[i] <= 0.5) end
assert(replay:update(0, batch.keys, ffi.new("double[4]", 1), 4) == 4)

local again = reprise.load(replay:save(), "view memory items length 1")
assert(again:stats(0).size == 5)
-- A snapshot contains no views, so the view in the line after the snapshot has the number 0.
assert(select(2, again:sample(0, 3)) == 3)
assert(again:delete(0, again.batches[0].keys, 1) == 1 and again:stats(0).size == 4)

-- Half floats are rounded once, and their arrays have type float.
local halves = reprise.create("leaf x f16 2\nleaf y bf16\ntable t size 9\nrule t length 1\nview t items length 1")
local tie = 1 + 2 ^ -11
assert(halves:append({ { x = { tie, tie + 2 ^ -40 }, y = 1 + 2 ^ -8 - 2 ^ -40 }, { x = { 65519, -1 / 0 }, y = -2 } }) == 0)
local floats, drawn = halves:sample(0, 16)
assert(drawn == 16)
for i = 0, 15 do
  local first = floats.y[i] == 1
  assert(first or floats.y[i] == -2)
  assert(floats.x[2 * i] == (first and 1 or 65504) and floats.x[2 * i + 1] == (first and 1 + 2 ^ -10 or -1 / 0))
end
refused('must fit in f16, or be infinite, got 65520', halves.append, halves, { x = { 1, 65520 }, y = 0 })
refused('"y" must be a number that fits in bf16, got 1e%+39', halves.append, halves, { x = { 1, 1 }, y = 1e39 })

refused('line 1: the dtype must be bool', reprise.create, "leaf a float")
refused("CORRUPT: ", reprise.load, "no snapshot")
refused('the step must have the leaf "action"', replay.append, replay, { observation = { 1, 2 } })
refused('"observation" must have 2 values, got 1', replay.append, replay, setmetatable({ observation = 1 }, { __index = step(1) }))
refused('"words" must have at most 5 bytes, got 9', replay.append, replay, setmetatable({ words = { "much more", "" } }, { __index = step(1) }))
local function with(name, value) return setmetatable({ [name] = value }, { __index = step(1) }) end
for _, wrong in ipairs { 0.5, 2 ^ 31, 0 / 0, 1 / 0, "1", true } do refused('INVALID_DATA: "action" must be a number', replay.append, replay, with("action", wrong)) end
for _, wrong in ipairs { -1, 0.5, 2 ^ 64 } do refused('"count" must be a number that fits in uint64_t', replay.append, replay, with("count", wrong)) end
for _, wrong in ipairs { 2, "true" } do refused('"done" must be true or false', replay.append, replay, with("done", wrong)) end
refused('the step has "speed", which is not a leaf of the spec', replay.append, replay, with("speed", 1))
refused('"reward" must be a number, got true', replay.append, replay, with("reward", true))
refused('"words" must be a string, got 7', replay.append, replay, with("words", { "a", 7 }))
refused("the step must be a table, got 5", replay.append, replay, { step(1), 5 })
refused("the step must be a table, got 5", replay.append, replay, 5)
-- A list with a hole is rejected, and so is a value that is neither a list nor a step. Nothing is stored.
local held = replay:stats(0).live
for _, holed in ipairs { { step(5), nil, step(6) }, { nil, step(6) }, { step(1), nil, nil, step(2) } } do
  refused("INVALID: the list of steps must have no holes, got nil for step %d of %d", replay.append, replay, holed)
end
refused("INVALID: the steps must be one step or a list", replay.append, replay, setmetatable({ step(5) }, nil) and { step(5), reward = 1 })
refused("the list of steps must be numbered from 1", replay.append, replay, { step(1), [1.5] = step(2) })
assert(replay:stats(0).live == held)
-- 64-bit integers are not truncated: a leaf stores the value or rejects it.
for _, wrong in ipairs { 2 ^ 40 + 3 + 0LL, 2147483648LL, -2147483649LL, 2147483648ULL, 18446744073709551615ULL } do
  refused('"action" must be a number that fits in int32_t', replay.append, replay, with("action", wrong))
end
for _, wrong in ipairs { -1LL, -9223372036854775807LL } do refused('"count" must be a number that fits in uint64_t', replay.append, replay, with("count", wrong)) end
refused('"done" must be true or false', replay.append, replay, with("done", 2LL))
refused('"action" must be a number, got cdata', replay.append, replay, with("action", ffi.new("int[1]")))
refused('"reward" must be a number, got cdata', replay.append, replay, with("reward", ffi.cast("char *", 8)))
refused('"observation" must be a number that fits in float, got 1e%+39', replay.append, replay, with("observation", { 1, 1e39 }))
refused('"observation" must be a number that fits in float', replay.append, replay, with("observation", { -3.5e38, 0 }))
refused("INVALID: writer must be a whole number from 0 to 2147483647, got 4294967296", replay.append, replay, step(1), 2 ^ 32)
refused("INVALID: table must be a whole number", replay.item, replay, 2LL ^ 40, 1)
refused("INVALID: n must be a whole number", replay.sample, replay, 0, 0.5)
refused("INVALID: keys%[1%] must be a whole number from 0 to 2%^53 %- 1, .*, got 1.5", replay.update, replay, 0, ffi.new("double[2]", 0, 1.5), ffi.new("double[2]", 1), 2)
assert(not pcall(replay.update, replay, 0, ffi.new("float[2]", 1), ffi.new("double[2]", 1), 2))
do
  local small = reprise.create("leaf a i8 4\nleaf b u16\nleaf c i64\nleaf x f32 2\ntable t size 9\nrule t length 1\nview t items\nseed 1")
  assert(small:append { a = { 127LL, -128LL, ffi.new("short", -7), 3ULL }, b = 65535ULL, c = -9223372036854775807LL - 1, x = { 3.4028235e38, -1 / 0 } } == 0)
  local drawn = small:sample(0, 1)
  assert(drawn.a[0] == 127 and drawn.a[1] == -128 and drawn.a[2] == -7 and drawn.a[3] == 3 and drawn.b[0] == 65535)
  assert(drawn.c[0] == -9223372036854775807LL - 1 and drawn.x[1] == -1 / 0)
end
assert(replay:append(with("count", 2 ^ 53)) == 0 and replay:append(with("count", 18446744073709551615ULL)) == 0)
refused("NOT_FOUND: writer must be", replay.append, replay, step(1), 3)
refused("INVALID: how must be 1", replay.finish, replay, "somehow")
refused("NOT_FOUND: view must be", replay.sample, replay, 9, 1)
assert(replay:free() == 0)
refused("CLOSED: ", replay.sample, replay, 0, 1)
refused("CLOSED: ", replay.free, replay)
print("all as it should be")
