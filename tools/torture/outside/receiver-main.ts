import { createServer } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { exitWhenParentGone } from '../../../embedded/children/parent-watch.ts'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'
import { at } from '../../../app/demo/members.ts'
import { DurableLines } from '../acknowledged.ts'

/*
 * A receiver of webhooks in its own process: `receiver-main.ts LOG`. A webhook is in the log before its answer. The
 * receiver refuses every fifth webhook when it first arrives, so that some are sent again.
 */
exitWhenParentGone(() => process.exit(0))
const log = new DurableLines(process.argv[2] ?? '')
const refused = new Set<string>()

const server = createServer((request, response) => {
  void readText(request).then((body) => {
    const id = String(request.headers['webhook-id'])
    const isRefused = id.charCodeAt(0) % 5 === 0 && !refused.has(id)
    refused.add(id)
    const status = isRefused ? 503 : 204
    const type = request.headers['webhook-event-type']
    log.write({ path: request.url, id, assessmentId: at(JSON.parse(body), 'id'), type, status })
    response.writeHead(status).end()
  })
})
const port = await listenOnLoopback(server, 'the webhook receiver', 0)
process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`)
