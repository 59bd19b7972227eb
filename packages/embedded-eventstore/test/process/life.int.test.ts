import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startEventStore } from '../../start.ts'

let dataDir = ''

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
})

afterEach(() => rm(dataDir, { recursive: true, force: true }))

const noted = (n: number) => jsonEvent({ type: 'Noted', data: { n } })

test('refuses a second process on the same folder, without harm to the first', async () => {
  const first = await startEventStore({ dataDir })
  await expect(startEventStore({ dataDir })).rejects.toThrow(/another process is using/)
  const client = EventStoreDBClient.connectionString(first.url)
  expect((await client.appendToStream('a-1', noted(0))).success).toBe(true)
  await client.dispose()
  await first.stop()
})

test('a start waits for a process that is about to end', async () => {
  const first = await startEventStore({ dataDir })
  const second = startEventStore({ dataDir })
  await new Promise((resolve) => {
    setTimeout(resolve, 300)
  })
  await first.stop()
  await (await second).stop()
})

test('a taken port stops the start with an error that contains the port', async () => {
  const first = await startEventStore({ dataDir })
  const other = await mkdtemp(join(tmpdir(), 'event-store-'))
  await expect(startEventStore({ dataDir: other, port: first.port })).rejects.toThrow(String(first.port))
  await first.stop()
  await rm(other, { recursive: true })
})

test('a clean stop ends open subscriptions and keeps the data', async () => {
  const first = await startEventStore({ dataDir })
  let client = EventStoreDBClient.connectionString(first.url)
  await client.appendToStream('a-1', noted(0))
  const subscription = client.subscribeToAll()
  const ended = new Promise((resolve) => {
    subscription
      .on('error', resolve)
      .on('end', resolve)
      .on('data', () => {})
  })
  await new Promise<void>((resolve) => {
    subscription.once('caughtUp', () => resolve())
  })
  await first.stop()
  await ended
  await client.dispose()
  const second = await startEventStore({ dataDir, port: first.port })
  client = EventStoreDBClient.connectionString(second.url)
  expect((await client.appendToStream('a-1', noted(1), { expectedRevision: 0n })).nextExpectedRevision).toBe(1n)
  await client.dispose()
  await second.stop()
})

test('SIGKILL of the parent ends the node', async () => {
  const startModule = fileURLToPath(new URL('../../start.ts', import.meta.url))
  const script = `const { startEventStore } = await import(${JSON.stringify(startModule)})
    const node = await startEventStore({ dataDir: ${JSON.stringify(dataDir)}, port: 0 })
    console.log(node.pid)
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line]: unknown[] = await once(parent.stdout, 'data')
  const pid = Number(String(line))
  expect(isRunning(pid)).toBe(true)
  parent.kill('SIGKILL')
  await expect.poll(() => isRunning(pid), { timeout: 20_000 }).toBe(false)
})

test('a client that reads a damaged event gets an error; other reads continue', async () => {
  const first = await startEventStore({ dataDir })
  let client = EventStoreDBClient.connectionString(first.url)
  await client.appendToStream('broken-1', jsonEvent({ type: 'Noted', data: { text: 'to be damaged' } }))
  await client.appendToStream('whole-1', noted(1))
  await client.dispose()
  await first.stop()
  damage('to be damaged')
  const second = await startEventStore({ dataDir })
  client = EventStoreDBClient.connectionString(second.url)
  await expect(readAll(client.readStream('broken-1'))).rejects.toThrow(/DATA_LOSS.*damaged/)
  await expect(readAll(client.readAll())).rejects.toThrow(/DATA_LOSS.*damaged/)
  expect(await readAll(client.readStream('whole-1'))).toHaveLength(1)
  await client.dispose()
  await second.stop()
})

async function readAll(read: AsyncIterable<unknown>): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of read) events.push(event)
  return events
}

function damage(text: string): void {
  const log = join(dataDir, 'log')
  const segment = join(log, readdirSync(log).find((file) => file.endsWith('.segment')) ?? '')
  const bytes = readFileSync(segment)
  const at = bytes.indexOf(text)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(segment, bytes)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
