import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi, type MockInstance } from 'vitest'
import { textAt } from '../../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { AppendCalls } from '../../../engine/store/append-calls.ts'
import { NodeConnection } from '../../../engine/store/node-connection.ts'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import {
  assessmentBody,
  consentedPatient,
  expecting,
  photograph,
  subscribeToEnds,
  webhookAbout,
} from '../../support/main-job.ts'

/**
 * Most round trips of one assessment, beside those of an idle platform. How events share batches and the appends of a
 * relay depends on their timing, so there is room for some more. A change that needs fewer lowers these.
 * `--reporter verbose` prints them by kind.
 */
const most = { statements: 30, appends: 22, reads: 6 }
const [warmUps, counted] = [3, 7]
/** Milliseconds without an append after which the work of an assessment has ended, and of the look at the idle platform. */
const [quietMs, idleMs] = [400, 4_000]

let running: InProcessPlatform
let receiver: WebhookReceiver
let patientId: string
let sent: MockInstance<Client['query']>
let appended: MockInstance<AppendCalls['send']>
let opened: MockInstance<NodeConnection['open']>
const statements = () => sent.mock.calls.map(([text]) => kindOf(text))
const appends = () => appended.mock.calls.map(([{ stream }]) => stream.split('-')[0] ?? '')
const reads = () => opened.mock.calls.length

beforeAll(async () => {
  sent = vi.spyOn(Client.prototype, 'query')
  appended = vi.spyOn(AppendCalls.prototype, 'send')
  opened = vi.spyOn(NodeConnection.prototype, 'open')
  running = await startInProcessPlatform({ PROVIDER_RESULT_INITIAL_DELAY_MS: '0' })
  receiver = await startWebhookReceiver()
  await subscribeToEnds(running.api, receiver)
  patientId = await consentedPatient(running.api, running.terms)
})
afterAll(async () => {
  await receiver.close()
  await running.close()
})

/** What a statement is for, or its first words. */
function kindOf(given: unknown): string {
  const text = typeof given === 'object' && given !== null && 'text' in given ? String(given.text) : String(given)
  if (text.startsWith('with recursive list')) return 'claim of due rows'
  if (text.startsWith('with recursive lanes')) return 'next due row'
  if (text.startsWith('update runtime.claims c set')) return 'claims given back'
  if (text.startsWith('with forgotten')) return 'sweep of claims'
  if (text.startsWith('with') && text.includes('moved')) {
    const tables = [...text.matchAll(/(?:insert into|update|delete from) ("?[\w".]+)/g)].map(([, table]) => table)
    return tables.length < 2 ? 'batch: checkpoints alone' : `batch: ${tables.length - 1} writes`
  }
  return text.replaceAll(/\s+/g, ' ').slice(0, 60)
}

async function assess(): Promise<void> {
  const body = assessmentBody(patientId, [await photograph()])
  const headers = { prefer: 'wait=25' }
  const { body: record } = await expecting(202, running.api.call('/v1/clinical-api/assessments', { body, headers }))
  await webhookAbout(receiver, textAt(record, 'id'))
  for (let before = -1; before < appends().length; await sleep(quietMs)) before = appends().length
}

interface Look {
  readonly ms: number
  readonly statements: readonly string[]
  readonly appends: readonly string[]
  readonly reads: number
}

async function during(work: () => Promise<unknown>): Promise<Look> {
  const before = { statements: statements().length, appends: appends().length, reads: reads(), ms: performance.now() }
  await work()
  return {
    ms: performance.now() - before.ms,
    statements: statements().slice(before.statements),
    appends: appends().slice(before.appends),
    reads: reads() - before.reads,
  }
}

const median = (figures: readonly number[]) => figures.toSorted((one, other) => one - other)[figures.length >> 1] ?? 0

/** How many of each kind, on average. */
function perLook(looks: readonly (readonly string[])[]): string {
  const kinds = Map.groupBy(looks.flat(), (kind) => kind)
  const counts = [...kinds].map(([kind, each]): [string, number] => [kind, each.length / looks.length])
  return counts
    .toSorted(([, one], [, other]) => other - one)
    .map(([kind, count]) => `${count.toFixed(1).padStart(6)} ${kind}`)
    .join('\n')
}

test('one assessment takes no more statements, appends and reads than before', async ({ annotate }) => {
  for (let each = 0; each < warmUps; each += 1) await assess()
  const idle = await during(() => sleep(idleMs))
  const looks: Look[] = []
  for (let each = 0; each < counted; each += 1) looks.push(await during(assess))

  const beside = (ms: number, count: number) => (count * ms) / idle.ms
  const found = {
    statements: median(looks.map(({ ms, statements: all }) => all.length - beside(ms, idle.statements.length))),
    appends: median(looks.map(({ ms, appends: all }) => all.length - beside(ms, idle.appends.length))),
    reads: median(looks.map(({ ms, reads: all }) => all - beside(ms, idle.reads))),
  }
  await annotate(`${JSON.stringify(found)}\n${perLook(looks.map((look) => look.statements))}`)
  await annotate(perLook(looks.map((look) => look.appends)))
  expect(found.statements).toBeLessThanOrEqual(most.statements)
  expect(found.appends).toBeLessThanOrEqual(most.appends)
  expect(found.reads).toBeLessThanOrEqual(most.reads)
})
