import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../../app/audit/run.ts'
import { asOfText } from '../../../app/audit/as-of-command.ts'
import { readCommand } from '../../../app/command-line.ts'
import { formatPosition, startOfLog } from '../../../platform/kit/positions.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { patientFact } from '../../streams/facts.ts'
import { openPastWorld, type PastWorld } from './past-world.ts'

let past: PastWorld
const orgId = randomUUID()
const patientId = randomUUID()
const path = `/v1/clinical-api/patients/${patientId}`
let at: string

beforeAll(async () => {
  past = await openPastWorld()
  const registered = patientFact('PatientRegistered', { patientId, organisationId: tenantOfFact(orgId) })
  const context = { ...contextOf(past.world), orgId: tenantOfFact(orgId) }
  await past.world.store.append(patients.of(tenantOfFact(orgId), patientId), 'no_stream', [registered], context)
  at = formatPosition(await past.caughtUp())
})
afterAll(() => past.close())

async function command(...args: readonly string[]): Promise<string> {
  const read = await readCommand(['audit', 'as-of', '--org', orgId, ...args])
  if (read.name !== 'audit' || read.order.action !== 'as-of') throw new Error('another order')
  return asOfText(past.env, read.order)
}

async function ofRoute(asked: Readonly<Record<string, string>>): Promise<unknown> {
  const headers = await past.t.token({ orgId, scopes: ['audit:read', 'audit:read-phi'] })
  const answer = await past.t.app.inject({ url: `/v1/audit/as-of?${new URLSearchParams(asked).toString()}`, headers })
  expect(answer.statusCode).toBe(200)
  return answer.json()
}

/** The records of the operator's commands in the access log. */
async function accesses(): Promise<unknown[]> {
  const records: unknown[] = []
  for await (const { stream, dataBytes } of past.world.store.readStoredLog({ after: startOfLog }))
    if (stream.startsWith('access_log-')) records.push({ stream, ...JSON.parse(Buffer.from(dataBytes).toString()) })
  return records
}

test('answers what the route answers, once it is in the access log as a command of the operator', async () => {
  expect(JSON.parse(await command('--at', at, '--path', path, '--json'))).toEqual(await ofRoute({ at, path }))
  expect(await accesses()).toMatchObject([
    {
      stream: expect.stringContaining(orgId),
      clientId: null,
      userId: null,
      patientIds: [patientId],
      categories: ['as_of'],
      operation: 'readAsOf',
    },
  ])
  const text = await command('--at', at, '--path', path)
  expect(text).toMatch(new RegExp(`^\\S+Z {2}position ${at} {2}status 200\\n\\{\\n {2}"id": "${patientId}"`))
})

test('shows a status of the route, and nobody, for a moment before the record', async () => {
  const before = (await accesses()).length
  const asked = { at: '2020-01-01T00:00:00Z', path }
  const answer: unknown = JSON.parse(await command('--at', asked.at, '--path', path, '--json'))
  expect(answer).toMatchObject({ status: 404, position: '0/0', body: { code: 'not-found' } })
  expect(answer).toEqual(await ofRoute(asked))
  expect(await accesses()).toHaveLength(before)
})

test('refuses what the route refuses', async () => {
  await expect(command('--at', '2199-01-01T00:00:00Z', '--path', path)).rejects.toThrow('The moment is in the future')
  await expect(command('--at', at, '--path', '/v1/audit/timeline')).rejects.toThrow('The path has no answers')
})

test('the timeline of an operator says that its read model is behind, and nothing otherwise', async () => {
  const order = {
    action: 'timeline',
    subject: { kind: 'patient', id: patientId },
    isOpened: false,
    isJson: true,
  } as const
  const [printed, said] = [new Array<string>(), new Array<string>()]
  const run = () =>
    runAudit(
      order,
      past.env,
      (line) => void printed.push(line),
      (line) => void said.push(line),
    )
  await run()
  expect([printed.length, said]).toEqual([1, []])
  const change = (by: number) =>
    past.pool.query('update runtime.projectors set version = version + $1 where name = $2', [by, 'audit_subjects'])
  await change(1)
  await run()
  await change(-1)
  expect(printed).toHaveLength(2)
  expect(said).toEqual(['the read model audit_subjects is behind the log: newer events may be missing'])
})
