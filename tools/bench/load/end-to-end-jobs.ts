import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { Pool } from 'undici'
import type { EndToEndJob, JobDone, MainJob, OutsideCallsJob } from './jobs.ts'
import { connectProvider } from './provider-calls.ts'
import { memberOf, paced, timed } from './work.ts'
import { post } from './webhook-jobs.ts'

const limitMs = 120_000

/** Each request must get the right answer, and each webhook must contain `completed`. */
export async function runEndToEndJob({ requests, perSecond, until }: EndToEndJob): Promise<JobDone> {
  const { baseUrl, paths, bodies, count, status } = requests
  const ends = new Map<unknown, PromiseWithResolvers<void>>()
  const endOf = (id: unknown) => {
    const known = ends.get(id)
    if (known !== undefined) return known
    const made = Promise.withResolvers<void>()
    ends.set(id, made)
    return made
  }
  const receiver = createServer((request, response) => {
    void json(request).then((record) => {
      response.writeHead(204).end()
      if (memberOf(record, 'status') === 'completed') endOf(memberOf(record, 'id')).resolve()
      else
        endOf(memberOf(record, 'id')).reject(
          new Error(`an assessment ended with: ${JSON.stringify(record).slice(0, 500)}`),
        )
    })
  })
  if (until !== 'answered')
    await new Promise<void>((resolve) => receiver.listen(until.webhookAtPort, '127.0.0.1', resolve))
  const pool = new Pool(baseUrl, { connections: 64, pipelining: 1 })
  const late = Promise.withResolvers<never>()
  late.promise.catch(() => undefined)
  const timer = setTimeout(() => late.reject(new Error('webhooks are missing')), limitMs)
  try {
    return await paced(count, perSecond, async (number) => {
      const headers = { ...requests.headers, 'content-type': 'application/json', 'idempotency-key': randomUUID() }
      const begun = performance.now()
      const answer = await pool.request({
        path: paths[0] ?? '',
        method: 'POST',
        headers,
        body: bodies[number % bodies.length] ?? null,
      })
      const record: unknown = await answer.body.json()
      if (answer.statusCode !== status)
        throw new Error(`a request was answered ${answer.statusCode}: ${JSON.stringify(record)}`)
      if (until !== 'answered') await Promise.race([endOf(memberOf(record, 'id')).promise, late.promise])
      return performance.now() - begun
    })
  } finally {
    clearTimeout(timer)
    await pool.close()
    receiver.closeAllConnections()
    receiver.close()
  }
}

export async function runMainJob({ requests, webhookAtPort }: MainJob): Promise<JobDone> {
  const { baseUrl, paths, bodies, count, inFlight } = requests
  const received = new Map<unknown, number>()
  const all = Promise.withResolvers<void>()
  const receiver = createServer((request, response) => {
    void json(request).then((record) => {
      response.writeHead(204).end()
      const id = memberOf(record, 'id')
      received.set(id, (received.get(id) ?? 0) + 1)
      if (received.size === count) all.resolve()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(webhookAtPort, '127.0.0.1', resolve))
  const pool = new Pool(baseUrl, { connections: inFlight, pipelining: 1 })
  const timer = setTimeout(() => all.reject(new Error(`${received.size} of ${count} webhooks arrived`)), limitMs)
  all.promise.catch(() => undefined)
  try {
    let sent = 0
    const done = await timed(count, inFlight, async () => {
      const number = sent++
      const headers = {
        ...requests.headers,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
        prefer: 'wait=25',
      }
      const answer = await pool.request({
        path: paths[0] ?? '',
        method: 'POST',
        headers,
        body: bodies[number % bodies.length] ?? null,
      })
      const record: unknown = await answer.body.json()
      if (memberOf(record, 'status') !== 'completed')
        throw new Error(`an assessment was answered ${answer.statusCode}: ${JSON.stringify(record).slice(0, 500)}`)
    })
    await all.promise
    const repeated = [...received.values()].filter((times) => times > 1).length
    if (repeated > 0) throw new Error(`${repeated} webhooks arrived more than once`)
    return done
  } finally {
    clearTimeout(timer)
    await pool.close()
    receiver.closeAllConnections()
    receiver.close()
  }
}

export async function runOutsideCallsJob({
  provider,
  imagePath,
  webhook,
  perSecond,
  count,
}: OutsideCallsJob): Promise<JobDone> {
  const receiver = new Pool(webhook.baseUrl, { connections: 64, pipelining: 1 })
  const image = await readFile(imagePath)
  const calls = await connectProvider(provider)
  try {
    return await paced(count, perSecond, async () => {
      const begun = performance.now()
      const caseId = await calls.openCase()
      await calls.sendImage(caseId, image)
      await calls.result(caseId, await calls.process(caseId))
      await post(receiver, webhook.path, {
        headers: { ...webhook.headers, 'webhook-id': randomUUID() },
        body: webhook.body,
      })
      return performance.now() - begun
    })
  } finally {
    await Promise.all([calls.close(), receiver.close()])
  }
}
