-- `love embed/lua/paddle FRAMES` plays that many frames without a screen, as fast as possible.
function love.conf(t)
  t.window.title, t.window.width, t.window.height = "Paddle", 416, 448
  if arg[2] == nil then return end
  for _, name in ipairs { "window", "graphics", "audio", "sound", "timer", "joystick", "keyboard", "mouse", "touch" } do t.modules[name] = false end
end
