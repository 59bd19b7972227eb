import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestExport } from '../../../commands/audit/export-decisions.ts'
import type { ExportFile } from '../../../contracts/audit/export.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { problem } from '../../../platform/http/problems.ts'
import { createExportRuns, exportPrefix, type ExportRuns } from '../../../processes/audit/export-runs.ts'
import { exportsProcess } from '../../../processes/audit/exports.process.ts'
import { auditExports, type AuditExport } from '../../../streams/audit-export/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { whenWorkedOff } from '../../support/given-process.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'
import { unzipped } from '../../support/zip-files.ts'

let world: ProcessWorld
const instances: ExportRuns[] = []

beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(async () => {
  for (const instance of instances) await instance.close()
  await world.close()
})

const image = randomBytes(9_000_000)
const whole = { 'timeline.jsonl': '{"type":"PatientRegistered"}\n', 'images/one.jpg': image }

async function* filesOf(contents: Readonly<Record<string, string | Buffer>>): AsyncGenerator<ExportFile> {
  async function* chunks(content: Buffer): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < content.length; from += 100_000) yield content.subarray(from, from + 100_000)
  }
  for (const [path, content] of Object.entries(contents)) yield { path, chunks: chunks(Buffer.from(content)) }
}

/** An instance whose exports have these files. */
function instance(files: () => AsyncIterable<ExportFile>) {
  const { objects } = world.deps
  const exports = createExportRuns({ objects, exports: { files }, newId: randomUUID, now: () => world.now() })
  instances.push(exports)
  return { ...world.deps, exports }
}

async function requested() {
  const order = { exportId: randomUUID(), tenant: world.orgId, patientId: randomUUID() }
  const target = auditExports.of(order.tenant, order.patientId)
  const { exportId, patientId, tenant: organisationId } = order
  const command = { exportId, patientId, organisationId, fingerprint: null, now: world.now() }
  await execute(world.store, target, (state) => requestExport(command, state), contextOf(world))
  const row = (step: string) => ({
    key: exportId,
    step,
    orgId: organisationId,
    dueAt: world.now(),
    payload: { patientId, cause: { eventId: randomUUID(), correlationId: randomUUID() } },
  })
  const state = async (): Promise<readonly AuditExport[]> => (await world.store.load(target)).state.exports
  const stored = async () => {
    const keys: string[] = []
    for await (const { key } of world.deps.objects.list(exportPrefix(order))) keys.push(key)
    return keys
  }
  return { order, row, state, stored }
}

const work = (deps: ReturnType<typeof instance>, row: Parameters<typeof whenWorkedOff>[1]) =>
  whenWorkedOff(exportsProcess, row, deps, world.now())

describe('an export', () => {
  it('is written to the object store, and removed with everything else of it', async () => {
    const one = await requested()
    const deps = instance(() => filesOf(whole))
    expect(await work(deps, one.row('write'))).toMatchObject({ kind: 'done', position: expect.anything() })
    const [finished] = await one.state()
    if (finished?.status !== 'finished') throw new Error('it has not finished')
    const zip = Buffer.from(await world.deps.objects.get(finished.objectKey))
    expect(zip.length).toBe(finished.bytes)
    const files = await unzipped(zip)
    expect([...files.keys()]).toEqual(Object.keys(whole))
    expect(files.get('images/one.jpg')?.equals(image)).toBe(true)
    // A repeat writes nothing.
    await work(deps, one.row('write'))
    await world.deps.objects.put(`${exportPrefix(one.order)}left.zip`, Buffer.from('left'), 'application/zip')
    expect(await one.stored()).toHaveLength(2)
    await work(deps, one.row('remove'))
    expect(await one.stored()).toEqual([])
    expect(await one.state()).toEqual([])
  })

  it('of an instance that stops is written by another one', async () => {
    const one = await requested()
    const begun = Promise.withResolvers<void>()
    const hanging = instance(async function* () {
      yield* filesOf({ 'timeline.jsonl': 'begun' })
      begun.resolve()
      await new Promise(() => undefined)
    })
    const stopping = new AbortController()
    const step = exportsProcess.steps['write']
    const context = { now: () => world.now(), leaseUntil: '', endedLeases: [], hasTime: () => true }
    const running = step?.(one.row('write'), hanging, { ...context, signal: stopping.signal })
    await begun.promise
    stopping.abort(new Error('the workers stop'))
    await expect(running).rejects.toThrow('the workers stop')
    expect(await one.stored()).toEqual([])
    const other = instance(() => filesOf(whole))
    await work(other, one.row('write'))
    expect(await one.state()).toMatchObject([{ status: 'finished' }])
    expect(await one.stored()).toHaveLength(1)
  })

  it('that takes longer than a step goes on between its runs', async () => {
    const one = await requested()
    const released = Promise.withResolvers<void>()
    const deps = instance(async function* () {
      yield* filesOf({ 'timeline.jsonl': 'begun' })
      await released.promise
      yield* filesOf({ 'access-log.jsonl': 'later' })
    })
    const step = exportsProcess.steps['write']
    const signal = new AbortController().signal
    const context = { now: () => world.now(), leaseUntil: '', endedLeases: [], hasTime: () => false, signal }
    for (let runs = 0; runs < 3; runs += 1)
      expect(await step?.(one.row('write'), deps, context)).toEqual({ kind: 'done', continues: true })
    released.resolve()
    await work(deps, one.row('write'))
    const [finished] = await one.state()
    if (finished?.status !== 'finished') throw new Error('it has not finished')
    const files = await unzipped(Buffer.from(await world.deps.objects.get(finished.objectKey)))
    expect([...files.keys()]).toEqual(['timeline.jsonl', 'access-log.jsonl'])
  })

  it('fails if the patient is erased, and is tried again after any other failure', async () => {
    const one = await requested()
    let failure = problem('object-store-unavailable')
    const deps = instance(async function* (): AsyncGenerator<ExportFile> {
      yield* filesOf({ 'timeline.jsonl': 'begun' })
      throw failure
    })
    await expect(work(deps, one.row('write'))).rejects.toThrow()
    expect(await one.state()).toMatchObject([{ status: 'running' }])
    failure = problem('subject-erased')
    await work(deps, one.row('write'))
    expect(await one.state()).toMatchObject([{ status: 'failed', errorCode: 'SUBJECT_ERASED' }])
    expect(await one.stored()).toEqual([])
  })

  it('that never ends is given up', async () => {
    const one = await requested()
    const deps = instance(() => filesOf(whole))
    await work(deps, one.row('give-up'))
    expect(await one.state()).toMatchObject([{ status: 'failed', errorCode: 'TIMED_OUT' }])
    await work(deps, one.row('write'))
    expect(await one.stored()).toEqual([])
  })
})
