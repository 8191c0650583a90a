-- A paddle that learns to catch falling balls during the game. Run `love embed/lua/paddle` after `npm run build:c`.
local here = love.filesystem.getSource()
package.path = here .. "/../?.lua;" .. package.path
local reprise = require("reprise").open(here .. "/../../../dist/embed/c")
local ffi = require("ffi")

local WIDTH, HEIGHT, CELL = 13, 14, 32
local REACH = 1 -- cells that the paddle reaches to each side
local MOVES = { [0] = -1, 0, 1 }
local BATCH, RATE, CHANCE = 64, 0.5, 0.1

local replay = reprise.create([[
leaf observation i32
leaf action i32
leaf reward f32
table memory size 50000 sampler prioritized 0.6
rule memory nStep 3
view memory transitions gamma 0.95 weights batch
seed 7]])
local random = love.math.newRandomGenerator(7)
local ball, paddle = { x = 6, y = 0 }, 6
local frames, caught, missed = 0, 0, 0
local most = tonumber(arg[2]) or math.huge
local late, early = { caught = 0, balls = 0 }, { caught = 0, balls = 0 } -- counts for the last third of the frames, and for the first

local values = ffi.new("double[?]", 2 * WIDTH * 3) -- one value for each position of the ball relative to the paddle, and each action
local priorities = ffi.new("double[?]", BATCH)

local function observation() return ball.x - paddle + WIDTH end

local function best(at)
  local action = 0
  for other = 1, 2 do
    if values[at * 3 + other] > values[at * 3 + action] then action = other end
  end
  return action
end

local function learn()
  local batch, count = replay:sample(0, BATCH, 0.5)
  for i = 0, count - 1 do
    local next = batch.nextObservation[i]
    local at = batch.observation[i] * 3 + batch.action[i]
    local wrong = batch.returns[i] + batch.discounts[i] * values[next * 3 + best(next)] - values[at]
    values[at] = values[at] + RATE * batch.weights[i] * wrong
    priorities[i] = math.abs(wrong) + 0.001
  end
  replay:update(0, batch.keys, priorities, count)
end

local function drop() ball.x, ball.y = random:random(WIDTH) - 1, 0 end

local function score(hit)
  if hit then caught = caught + 1 else missed = missed + 1 end
  local third = frames <= most / 3 and early or frames > 2 * most / 3 and late
  if third then third.balls, third.caught = third.balls + 1, third.caught + (hit and 1 or 0) end
end

-- Plays one frame: the paddle moves, the ball falls, and one batch updates the values of actions.
function love.update()
  frames = frames + 1
  local seen = observation()
  local action = random:random() < CHANCE and random:random(3) - 1 or best(seen)
  paddle = math.min(math.max(paddle + MOVES[action], 0), WIDTH - 1)
  ball.y = ball.y + 1
  local landed = ball.y == HEIGHT - 1
  local hit = landed and math.abs(ball.x - paddle) <= REACH
  replay:append { observation = seen, action = action, reward = landed and (hit and 1 or -1) or 0 }
  if landed then
    replay:finish("terminated", { observation = observation(), action = 0, reward = 0 })
    score(hit)
    drop()
  end
  if replay:stats(0).size >= BATCH then learn() end
  if frames < most then return end
  print(("%d frames; %d of the first %d balls were caught, %d of the last %d"):format(frames, early.caught, early.balls, late.caught, late.balls))
  love.event.quit()
end

function love.draw()
  love.graphics.print(("caught %d, missed %d"):format(caught, missed), 8, 8)
  love.graphics.circle("fill", (ball.x + 0.5) * CELL, (ball.y + 0.5) * CELL, CELL / 2)
  love.graphics.rectangle("fill", (paddle - REACH) * CELL, (HEIGHT - 0.5) * CELL, (2 * REACH + 1) * CELL, CELL / 2)
end
