import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organisationOf } from '../../../app/audit/operator-services.ts'
import { writeFolder } from '../../../app/export/export-folder.ts'
import { createExports } from '../../../app/export/exports.ts'
import { checkManifest } from '../../../contracts/audit/offline/manifest.ts'
import { openProvenance } from '../../../contracts/audit/provenance.ts'
import { auditRecords } from '../../../contracts/audit/records-in-order.ts'
import { problem } from '../../../platform/http/problems.ts'
import { noOrganisation, tenantOfFact } from '../../../platform/kit/tenants.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { accessLogs } from '../../../streams/access-log/aggregate.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { consents } from '../../../streams/consent/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { accessLogFact } from '../../streams/access-log-facts.ts'
import { assessmentFact, consentFact, patientFact } from '../../streams/facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { userFact } from '../../streams/user-facts.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'
import { openPastWorld, type PastWorld } from '../as-of/past-world.ts'

let past: PastWorld
let server: Awaited<ReturnType<typeof hostedObjectStore>>
let objects: ObjectStore
let place: string

beforeAll(async () => {
  const bucket = { bucket: 'assessments', accessKeyId: 'test', secretAccessKey: randomUUID() }
  ;[past, server, place] = await Promise.all([
    openPastWorld(),
    hostedObjectStore(bucket),
    mkdtemp(join(tmpdir(), 'export-')),
  ])
  objects = connectObjectStore({ endpoint: server.endpoint, region: 'us-east-1', ...bucket, now: () => new Date() })
})
afterAll(async () => {
  objects.close()
  await Promise.all([past.close(), server.stop(), rm(place, { recursive: true })])
})

/** Stores the bytes of an image. */
async function stored(imageId: string) {
  const bytes = randomBytes(100)
  const key = `images/2026-03-01/${imageId}`
  await objects.put(key, bytes, 'image/jpeg')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { bytes, received: { imageId, object: { key, sha256, bytes: bytes.length }, width: 6, height: 4 } }
}

/** The folder of an export of a patient of the world's organisation. */
async function exported(name: string, patientId: string): Promise<string> {
  const { world, pool, asOf } = past
  const { store, vault, orgId, configuration } = world
  const sources = { pool, store, vault, objects, asOf, configuration, records: auditRecords(store) }
  const provenance = openProvenance({ store, vault, objects, configuration })
  const exports = createExports({ ...sources, provenance, now: () => new Date(), isCurrent: async () => true })
  const folder = join(place, name)
  await writeFolder(folder, exports.files({ exportId: randomUUID(), tenant: orgId, patientId }))
  return folder
}

test('an export has a notification to a user who was erased later', async () => {
  const { world } = past
  const { store, vault, orgId } = world
  const [patientId, notificationId, userId] = [randomUUID(), randomUUID(), randomUUID()]
  const of = { organisationId: orgId, patientId }
  const registered = patientFact('PatientRegistered', of)
  await store.append(patients.of(orgId, patientId), 'no_stream', [registered], contextOf(world))
  const named = { organisationId: orgId, notificationId, recipientRef: userId, phiSubject: patientId }
  const created = notificationFact('NotificationCreated', named)
  await store.append(notifications.of(orgId, notificationId), 'no_stream', [created], contextOf(world))
  const user = [userFact('UserCreated', { userId }), userFact('UserErasureStarted', { userId })]
  await store.append(users.of(userId), 'no_stream', user, contextOf(world))
  await vault.destroySubject(noOrganisation, userId)
  await past.caughtUp()

  const folder = await exported('notified', patientId)
  const record = await readFile(join(folder, 'records', 'notifications', `${notificationId}.json`), 'utf8')
  expect(JSON.parse(record)).toMatchObject({ id: notificationId, recipientType: 'user' })
})

test('an export names the images that the object store lacks or has changed, in its signed manifest', async () => {
  const { world } = past
  const { store, vault, orgId } = world
  const [patientId, changed, gone] = [randomUUID(), randomUUID(), randomUUID()]
  const other = Buffer.from('another photograph')
  const of = { organisationId: orgId, patientId }
  const registered = patientFact('PatientRegistered', of)
  await store.append(patients.of(orgId, patientId), 'no_stream', [registered], contextOf(world))
  let receivedSha256 = ''
  for (const imageId of [changed, gone]) {
    const { received } = await stored(imageId)
    const { key, sha256 } = received.object
    const facts = [imageFact('ImageDeclared', { ...of, imageId }), imageFact('ImageReceived', received)]
    await store.append(images.of(orgId, imageId), 'no_stream', facts, contextOf(world))
    if (imageId === gone) await objects.remove(key)
    else {
      await objects.put(key, other, 'image/jpeg')
      receivedSha256 = sha256
    }
  }
  await past.caughtUp()

  const folder = await exported('missing', patientId)
  expect(await readdir(join(folder, 'images'))).toEqual([`${changed}.jpg`])
  const manifest: unknown = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
  const leftOut = [{ path: `images/${gone}.jpg`, reason: 'object-missing' }]
  expect(manifest).toMatchObject({ left_out: leftOut })
  const keys = { keys: await vault.publicKeys('provenance') }
  expect(checkManifest(manifest, keys)).toMatchObject({
    leftOut,
    files: expect.arrayContaining([
      {
        path: `images/${changed}.jpg`,
        sha256: createHash('sha256').update(other).digest('hex'),
        bytes: other.length,
        received_sha256: receivedSha256,
      },
    ]),
  })
})

test('an export names a record that is made of too many events, and has the others', async () => {
  const { world, pool, asOf } = past
  const { store, vault, orgId, configuration } = world
  const [patientId, imageId] = [randomUUID(), randomUUID()]
  const of = { organisationId: orgId, patientId }
  const registered = patientFact('PatientRegistered', of)
  await store.append(patients.of(orgId, patientId), 'no_stream', [registered], contextOf(world))
  const declared = imageFact('ImageDeclared', { ...of, imageId })
  await store.append(images.of(orgId, imageId), 'no_stream', [declared], contextOf(world))
  await past.caughtUp()

  const answers: typeof asOf.answer = async (tenant, moment, path) => {
    if (path.endsWith(imageId)) throw problem('history-too-large')
    return asOf.answer(tenant, moment, path)
  }
  const sources = { pool, store, vault, objects, configuration, records: auditRecords(store) }
  const provenance = openProvenance({ store, vault, objects, configuration })
  const exports = createExports({
    ...sources,
    provenance,
    asOf: { answer: answers, momentOf: (at) => asOf.momentOf(at) },
    now: () => new Date(),
    isCurrent: async () => true,
  })
  const folder = join(place, 'large')
  await writeFolder(folder, exports.files({ exportId: randomUUID(), tenant: orgId, patientId }))
  expect(await readdir(join(folder, 'records'))).toEqual(['patient.json'])
  const manifest: unknown = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))
  const leftOut = [{ path: `records/images/${imageId}.json`, reason: 'history-too-large' }]
  expect(manifest).toMatchObject({ left_out: leftOut })
})

test('an export has each image once: of a workflow, which an assessment collected, and of a request', async () => {
  const { world } = past
  const { store, orgId } = world
  const [patientId, ownImage, inlineImage] = [randomUUID(), randomUUID(), randomUUID()]
  const [own, sent] = [await stored(ownImage), await stored(inlineImage)]
  const of = { organisationId: orgId, patientId }
  const registered = patientFact('PatientRegistered', of)
  await store.append(patients.of(orgId, patientId), 'no_stream', [registered], contextOf(world))
  const declared = imageFact('ImageDeclared', { ...of, imageId: ownImage })
  const received = imageFact('ImageReceived', own.received)
  await store.append(images.of(orgId, ownImage), 'no_stream', [declared, received], contextOf(world))
  for (const [mode, image] of [
    ['collected', own.received],
    ['inline', sent.received],
  ] as const) {
    const assessmentId = randomUUID()
    const { imageId } = image
    const declarations = [{ imageId, captureType: 'macroscopic' as const, mimeType: 'image/jpeg' }]
    const requested = assessmentFact('AssessmentRequested', { ...of, assessmentId, mode, images: declarations })
    const submitted = assessmentFact('AssessmentSubmitted', { assessmentId, images: [image] })
    await store.append(assessments.of(orgId, assessmentId), 'no_stream', [requested, submitted], contextOf(world))
  }
  await past.caughtUp()

  const folder = await exported('patient', patientId)
  const files = await readdir(join(folder, 'images'))
  expect(files.toSorted()).toEqual([`${ownImage}.jpg`, `${inlineImage}.jpg`].toSorted())
  expect(await readFile(join(folder, 'images', `${ownImage}.jpg`))).toEqual(own.bytes)
  expect(await readFile(join(folder, 'images', `${inlineImage}.jpg`))).toEqual(sent.bytes)
})

test('an export of an operator needs the organisation if several know the patient', async () => {
  const { world, pool } = past
  const [patientId, other] = [randomUUID(), tenantOfFact(randomUUID())]
  const found = (org?: typeof other) => organisationOf(pool, 'patient', patientId, org)
  // A consent needs no registration.
  const consent = async (organisationId: typeof other) => {
    const recorded = consentFact('ConsentRecorded', { consentId: randomUUID(), organisationId, patientId })
    const context = { ...contextOf(world), orgId: organisationId }
    await world.store.append(consents.of(organisationId, patientId), 'no_stream', [recorded], context)
    await past.caughtUp()
  }
  await consent(world.orgId)
  expect(await found()).toBe(world.orgId)
  await expect(found(other)).rejects.toThrow(`nothing is known of patient ${patientId} in organisation ${other}`)
  await consent(other)
  await expect(found()).rejects.toThrow(new RegExp(`name one with --org: .*${other}`))
  expect([await found(world.orgId), await found(other)]).toEqual([world.orgId, other])
})

test('the accesses in an export name no other patient, also those that showed a list', async () => {
  const { world } = past
  const { store, orgId } = world
  const [patientId, accessId] = [randomUUID(), randomUUID()]
  const registered = patientFact('PatientRegistered', { organisationId: orgId, patientId })
  await store.append(patients.of(orgId, patientId), 'no_stream', [registered], contextOf(world))
  const at = new Date().toISOString()
  const shown = {
    accessId,
    organisationId: orgId,
    at,
    patientIds: [randomUUID(), patientId],
    operation: 'listPatients',
  }
  const log = accessLogs.of(orgId, at.slice(0, 10), randomUUID())
  await store.append(log, 'no_stream', [accessLogFact('AccessRecorded', shown)], contextOf(world))
  await past.caughtUp()

  const accesses = await readFile(join(await exported('shown-in-a-list', patientId), 'access-log.jsonl'), 'utf8')
  expect(JSON.parse(accesses)).toMatchObject({ id: accessId, operation: 'listPatients', patient_ids: [patientId] })
})
