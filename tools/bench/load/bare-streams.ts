import { createServer } from 'node:http'

/* A server of idle streams and nothing else. Tells its parent the port, and ends with it. */

const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' })
  response.write('retry: 2000\nid: 0\n\n')
  const life = setInterval(() => response.write(': no event\n\n'), 15_000)
  response.on('close', () => clearInterval(life))
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.(typeof address === 'object' ? address?.port : undefined)
})
process.on('disconnect', () => process.exit(0))
