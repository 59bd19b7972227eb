import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerJobs, type ReceiverDone, type ReceiverJob, type Webhook } from './jobs.ts'

/* Receives webhooks in its own process. It reads each to its end and answers 204. Webhooks to /hang get no answer. */

const limitMs = 300_000
const empty: Webhook = { headers: {}, body: '' }

let arrivals = new Map<string, number>()
let repeated = 0
let sample = empty
let awaited = { count: Infinity, reached: () => {} }

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.url?.startsWith('/hang') === true) return
    const id = String(request.headers['webhook-id'])
    if (arrivals.has(id)) repeated += 1
    else arrivals.set(id, performance.now())
    if (sample === empty) {
      const headers = Object.entries(request.headers).filter(
        ([name]) => name === 'content-type' || name === 'user-agent' || name.startsWith('webhook-'),
      )
      sample = {
        headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
        body: Buffer.concat(chunks).toString('utf8'),
      }
    }
    response.writeHead(204).end()
    if (arrivals.size >= awaited.count) awaited.reached()
  })
})

const listening = new Promise<string>((resolve) => {
  server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
})

answerJobs(async (job: ReceiverJob): Promise<ReceiverDone> => {
  const url = await listening
  if (job.kind === 'begin') {
    arrivals = new Map()
    repeated = 0
    sample = empty
    awaited = { count: Infinity, reached: () => {} }
    return { url, perSecond: NaN, repeated, sample }
  }
  const { count } = job
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${arrivals.size} of ${count} webhooks arrived`)), limitMs)
    const reached = () => {
      clearTimeout(timer)
      resolve()
    }
    awaited = { count, reached }
    if (arrivals.size >= count) reached()
  })
  if (arrivals.size !== count) throw new Error(`${arrivals.size} webhooks arrived instead of ${count}`)
  return { url, perSecond: middleRate([...arrivals.values()]), repeated, sample }
})

/** Webhooks per second, without the first and the last tenth. */
function middleRate(at: readonly number[]): number {
  const first = Math.floor(at.length * 0.1)
  const last = Math.ceil(at.length * 0.9) - 1
  return ((last - first) * 1000) / ((at[last] ?? NaN) - (at[first] ?? NaN))
}
