-- Sends the requests of a file, one body per line and in turn, from the one that FROM names.
local path = os.getenv("BODIES")
local headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Api-Key " .. os.getenv("KEY") }
local requests, place = {}, 0
local threads = 0

function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

function init()
   for line in io.lines(path) do
      requests[#requests + 1] = wrk.format("POST", nil, headers, line)
   end
   place = (tonumber(os.getenv("FROM")) + number * 7919) % #requests
end

function request()
   place = place % #requests + 1
   return requests[place]
end
