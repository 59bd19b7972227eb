import { EventStoreDBClient } from '@eventstore/db-client'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { at, textAt } from '../../app/demo/members.ts'
import type { ApiClient } from '../support/raw-api.ts'
import { startExample, type ExampleRun } from '../../tools/examples/example-run.ts'
import { assessmentBody, photograph, registerPatient, requestAssessment } from '../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../support/platform.ts'

let platform: PlatformHere
let api: ApiClient
/** Commands of the examples. `jq` runs the jq of an npm package, because a machine with Node.js may have none. */
let commands: string
let folder: string
const reader = { id: '', secret: '' }
let run: ExampleRun | undefined

beforeAll(async () => {
  commands = await mkdtemp(join(tmpdir(), 'commands-'))
  const program = join(import.meta.dirname, 'jq.mjs')
  await writeFile(join(commands, 'jq'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  await chmod(join(commands, 'jq'), 0o755)
  platform = await startPlatformHere()
  api = await platform.connect()
  const { org_id, product_id } = platform.process.credentials
  const registered = await changeClient('POST', `?org_id=${org_id}`, { name: 'reader', org_id, product_id })
  reader.id = textAt(registered, 'client_id')
  reader.secret = textAt(registered, 'client_secret')
})
afterAll(async () => {
  await platform.stop()
  await rm(commands, { recursive: true })
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'feed-'))
})
afterEach(async () => {
  await run?.kill()
  await rm(folder, { recursive: true })
})

async function changeClient(method: string, path: string, changes: object): Promise<unknown> {
  const { body } = await api.call(`/v1/auth/clients${path}`, {
    method,
    body: { scopes: ['events:read:assessment'], ...changes },
    headers: { 'x-admin-api-secret': platform.process.credentials.admin_api_secret ?? '' },
  })
  return body
}

function start(): ExampleRun {
  run = startExample('feed', [], {
    PATH: `${commands}${delimiter}${process.env['PATH']}`,
    PLATFORM_URL: platform.baseUrl,
    CLIENT_ID: reader.id,
    CLIENT_SECRET: reader.secret,
    FEED_FOLDER: folder,
  })
  return run
}

/** Assessments without consent. They end at once. */
async function causeEvents(count: number): Promise<void> {
  const image = await photograph()
  for (let made = 0; made < count; made += 1)
    await requestAssessment(api, assessmentBody(await registerPatient(api), [image]))
}

/** The ids of all events of the channel, once there are that many. */
async function published(count: number): Promise<unknown[]> {
  return waitFor(`${count} events`, async () => {
    const { body } = await api.call('/v1/events/assessment?limit=1000')
    const data = at(body, 'data')
    return Array.isArray(data) && data.length >= count ? data.map((event) => at(event, 'event_id')) : undefined
  })
}

const text = () => readFile(join(folder, 'events.jsonl'), 'utf8').catch(() => '')

async function untilTableHas(ids: readonly unknown[]): Promise<void> {
  await waitFor('the table', async () => ((await text()).split('\n').length > ids.length ? true : undefined))
  const lines = (await text()).trimEnd().split('\n')
  expect(lines.map((line) => at(JSON.parse(line), 'event_id'))).toEqual(ids)
}

test('the table has each event once, although the consumer is killed at random moments', async () => {
  const causing = causeEvents(8)
  for (let kill = 0; kill < 2; kill += 1) {
    await start().printed(/"assessment\.failed"/)
    await sleep(Math.random() * 300)
    await run?.kill()
    if (kill < 1) await causeEvents(1)
  }
  await causing
  start()
  await untilTableHas(await published(9))
})

test('a kill in the middle of a line, before the cursor is stored, loses and doubles nothing', async () => {
  const ids = await published(9)
  start()
  await untilTableHas(ids)
  await run?.kill()
  await writeFile(join(folder, 'events.jsonl'), (await text()).slice(0, -1000))
  await writeFile(join(folder, 'cursor'), '')
  start()
  await untilTableHas(ids)
})

test('a token that ends is renewed', async () => {
  const ids = await published(9)
  start()
  await untilTableHas(ids)
  await changeClient('PATCH', `/${reader.id}`, { scopes: ['events:read'] })
  await causeEvents(1)
  await causeEvents(1)
  await untilTableHas(await published(11))
  expect(run?.output()).toContain('gets a new token')
})

test('a lost cursor is reported, and reading goes on at the oldest event', async () => {
  const ids = await published(11)
  start()
  await untilTableHas(ids)
  await waitFor('the cursor', async () => ((await readFile(join(folder, 'cursor'), 'utf8')) === '' ? undefined : true))
  await run?.kill()
  await causeEvents(2)
  const [, last] = (await published(13)).slice(-2)
  await truncateChannel(12)
  await start().printed(/the cursor is lost/)
  await untilTableHas([...ids, last])
})

/** Removes the events before a revision. */
async function truncateChannel(revision: number): Promise<void> {
  const client = EventStoreDBClient.connectionString(platform.process.credentials.eventstore_url ?? '')
  const { metadata } = await client.getStreamMetadata('assessment.events')
  await client.setStreamMetadata('assessment.events', { ...metadata, truncateBefore: revision })
  await client.dispose()
}

test.each(['curl', 'jq'])('a machine without %s gets a message', async (missing) => {
  const path = await mkdtemp(join(tmpdir(), 'path-'))
  const found = ['bash', 'dirname', ...(missing === 'jq' ? ['curl'] : [])]
  for (const name of found) {
    const { stdout } = await promisify(execFile)('sh', ['-c', `command -v ${name}`])
    await symlink(stdout.trim(), join(path, name))
  }
  run = startExample('feed', [], { PATH: path })
  expect(await run.ended).toBe(2)
  expect(run.output()).toContain(`needs ${missing}`)
  await rm(path, { recursive: true })
})
