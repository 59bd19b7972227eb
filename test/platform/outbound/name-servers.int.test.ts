import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { errorCode } from '../../../platform/kit/error-codes.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'

let nameServer: Socket
let receiver: Server
let egress: Egress

beforeAll(async () => {
  receiver = createServer((_, answer) => answer.end())
  receiver.listen(0, '127.0.0.1')
  nameServer = createSocket('udp4', (question, { port }) => {
    const answer = answerTo(question)
    if (answer !== undefined) nameServer.send(answer, port, '127.0.0.1')
  })
  nameServer.bind(0, '127.0.0.1')
  await Promise.all([once(receiver, 'listening'), once(nameServer, 'listening')])
  egress = createEgress({
    configuration: loadConfiguration({ APP_ENV: 'production', EGRESS_ALLOW: '127.0.0.1/32' }),
    nameServers: [`127.0.0.1:${nameServer.address().port}`],
  })
})
afterAll(async () => {
  await egress.close()
  receiver.close()
  nameServer.close()
})

const headBytes = 12
const typeA = 1

/** RFC 1035, 4. A question for a name that begins with `silent` gets no answer, and any other name is at 127.0.0.1. */
function answerTo(question: Buffer): Buffer | undefined {
  const label = question.toString('latin1', headBytes + 1, headBytes + 1 + question.readUInt8(headBytes))
  if (label.startsWith('silent')) return undefined
  const end = question.indexOf(0, headBytes) + 5
  const isIpv4 = question.readUInt16BE(end - 4) === typeA
  const head = Buffer.from(question.subarray(0, headBytes))
  // An answer to one question, without further records.
  head.writeUInt16BE(0x8180, 2)
  for (const [place, count] of [1, isIpv4 ? 1 : 0, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * place)
  const record = Buffer.from([0xc0, headBytes, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([head, question.subarray(headBytes, end), ...(isIpv4 ? [record] : [])])
}

it('reaches a receiver while the name servers of many others are silent', async () => {
  const address = receiver.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const call = (name: string) =>
    egress.request(`http://${name}.receivers.example:${port}/`, {
      purpose: 'webhook',
      lane: name,
      timeoutMs: 10_000,
      maxBytes: 1_000,
    })
  const ended: string[] = []
  const silent = Array.from({ length: 8 }, (_, number) => `silent-${number}`).map(async (name) => {
    const code: unknown = await call(name).catch(errorCode)
    ended.push(name)
    return code
  })
  const answer = await call('living')
  await answer.discard()
  expect([answer.status, ended]).toEqual([200, []])
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['dns']))
})
