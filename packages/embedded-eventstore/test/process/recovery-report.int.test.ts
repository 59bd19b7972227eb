import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore } from '../../start.ts'

const MAIN = fileURLToPath(new URL('../../main.ts', import.meta.url))

let dataDir = ''

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
})

afterEach(() => rm(dataDir, { recursive: true, force: true }))

/** A node with two events. It ends by SIGKILL or by a stop. */
async function usedNode(end: 'kill' | 'stop'): Promise<void> {
  const node = await startEventStore({ dataDir })
  const client = EventStoreDBClient.connectionString(node.url)
  for (const n of [0, 1]) await client.appendToStream('a-1', jsonEvent({ type: 'Noted', data: { n } }))
  await client.dispose()
  if (end === 'stop') await node.stop()
  else node.kill()
  await node.exited
}

/** The lines that a node prints until it listens. */
async function startAndReport(): Promise<unknown[]> {
  const child = spawn(process.execPath, [
    '--disable-warning=ExperimentalWarning',
    MAIN,
    '--data',
    dataDir,
    '--port',
    '0',
  ])
  const lines: unknown[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line))
    if (line.includes('"ready"')) child.kill('SIGTERM')
  }
  if (child.exitCode === null) await once(child, 'exit')
  return lines
}

const READY = { ready: true, port: expect.any(Number) }
const held = { streams: 1, events: 2, bytes: expect.any(Number), milliseconds: expect.any(Number) }

test('an empty folder', async () => {
  expect(await startAndReport()).toMatchObject([
    { level: 'info', event: 'event-store-recovered', tornBytes: 0, appendsReadAgain: 0, events: 0 },
    READY,
  ])
})

test('a start after a clean stop repairs nothing', async () => {
  await usedNode('stop')
  expect(await startAndReport()).toMatchObject([
    { level: 'info', tornBytes: 0, appendsReadAgain: 0, index: 'kept', ...held },
    READY,
  ])
})

test('a start after a crash cuts the torn end off', async () => {
  await usedNode('kill')
  const log = join(dataDir, 'log')
  await appendFile(join(log, readdirSync(log).find((name) => name.endsWith('.segment')) ?? ''), 'half of an append')
  const [report, ready] = await startAndReport()
  expect([report, ready]).toMatchObject([{ level: 'warn', tornBytes: expect.any(Number), ...held }, READY])
  expect(report).not.toMatchObject({ tornBytes: 0 })
  expect(await startAndReport()).toMatchObject([{ level: 'info', tornBytes: 0, ...held }, READY])
})

test('a start without an index builds it again', async () => {
  await usedNode('stop')
  await rm(join(dataDir, 'index.sqlite'))
  expect(await startAndReport()).toMatchObject([
    { level: 'warn', tornBytes: 0, index: 'built', appendsReadAgain: 2, ...held },
    READY,
  ])
})
