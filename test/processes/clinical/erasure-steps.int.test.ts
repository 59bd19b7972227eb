import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { requestErasure } from '../../../commands/clinical/erase-patient.ts'
import { patientsHolding } from '../../../commands/clinical/identifier-reservations.ts'
import { registerWithIdentifiers } from '../../../commands/clinical/register-with-identifiers.ts'
import { tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { createErasureGuard } from '../../../contracts/clinical/erasure-guard.ts'
import { ledgerKey, readLedgerEntry } from '../../../contracts/clinical/erasure-ledger.ts'
import { execute } from '../../../engine/commands/execute.ts'
import type { DomainEvent, RecordedEvent, Target } from '../../../engine/store/events.ts'
import { createErasedSweep } from '../../../processes/clinical/sweep-erased.ts'
import { createRestoredBucketSweep } from '../../../processes/clinical/sweep-restored-bucket.ts'
import { erasuresProcess } from '../../../processes/clinical/erasures.process.ts'
import type { ProcessDependencies } from '../../../processes/dependencies.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { humanReviewTasks } from '../../../streams/human-review-task/aggregate.ts'
import { images } from '../../../streams/image/aggregate.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { patientErasures } from '../../../streams/patient-erasure/aggregate.ts'
import { ErasureStep } from '../../../streams/patient-erasure/events.ts'
import { clinicalPatientOf, isUser, users } from '../../../streams/user/aggregate.ts'
import { workflowInstances } from '../../../streams/workflow-instance/aggregate.ts'
import { contextOf, observed, streamOfCall } from '../../engine/commands/decision-world.ts'
import { reviewFact } from '../../streams/ai-review-facts.ts'
import { assessmentFact } from '../../streams/facts.ts'
import { taskFact } from '../../streams/human-review-facts.ts'
import { imageFact } from '../../streams/image-facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { userFact } from '../../streams/user-facts.ts'
import { instanceFact } from '../../streams/workflow-facts.ts'
import { todosAfter, whenWorkedOff } from '../../support/given-process.ts'
import { openProcessWorld, type ProcessWorld } from '../../support/process-world.ts'

let world: ProcessWorld
beforeAll(async () => {
  world = await openProcessWorld()
})
afterAll(() => world.close())

async function recordedIn<State, Event extends DomainEvent>(target: Target<State, Event>, ...events: Event[]) {
  await execute(world.store, target, () => events, contextOf(world))
  return target.stream
}

/** A patient with an identifier, an image, and open work of every kind. Its erasure has started. */
async function erasing() {
  const { store, orgId } = world
  const { objects } = world.deps
  const owned = { patientId: randomUUID(), organisationId: orgId }
  const { patientId } = owned
  const identifier = { scheme: 'nhs', value: randomUUID() }
  const appended = new Set<string>()
  const watched = observed(store, (method, parameters) => {
    if (method === 'append') appended.add(streamOfCall(parameters))
  })
  await registerWithIdentifiers(
    { ...world, store: watched },
    orgId,
    {
      ...owned,
      person: { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers: [identifier] },
      now: world.now(),
      fingerprint: null,
    },
    contextOf(world),
  )
  const [imageId, aiReviewId, taskId, workflowInstanceId, notificationId] = [1, 2, 3, 4, 5].map(() => randomUUID())
  if (
    imageId === undefined ||
    aiReviewId === undefined ||
    taskId === undefined ||
    workflowInstanceId === undefined ||
    notificationId === undefined
  )
    throw new Error('five ids')
  const key = `images/2026-03-01/${orgId}/${imageId}/${imageId}/0a1b2c`
  const raw = `raw-responses/${orgId}/${aiReviewId}/one`
  const upload = `uploads/${orgId}/${imageId}/${imageId}`
  for (const place of [key, raw, upload]) await objects.put(place, Buffer.from('canary'), 'image/jpeg')
  const { object } = imageFact('ImageReceived').data
  const review = aiReviews.of(orgId, aiReviewId)
  const task = humanReviewTasks.of(orgId, taskId)
  const instance = workflowInstances.of(orgId, workflowInstanceId)
  const notification = notifications.of(orgId, notificationId)
  const personal = { phiSubject: patientId, phiKeyOwner: 'organisation' } as const
  const streams = [
    await recordedIn(
      images.of(orgId, imageId),
      imageFact('ImageDeclared', { ...owned, imageId, closesAt: new Date(world.now().getTime() - 1).toISOString() }),
      imageFact('ImageReceived', { imageId, object: { ...object, key } }),
    ),
    await recordedIn(review, reviewFact('AiReviewRequested', { aiReviewId, orgId, patientId })),
    await recordedIn(task, taskFact('HumanReviewTaskOpened', { ...owned, taskId, aiReviewId })),
    await recordedIn(instance, instanceFact('WorkflowInstanceStarted', { ...owned, workflowInstanceId })),
    await recordedIn(
      notification,
      notificationFact('NotificationCreated', { ...personal, notificationId, organisationId: orgId }),
    ),
    ...appended,
  ]
  const erasure = patientErasures.of(orgId, patientId)
  const command = {
    ...owned,
    reason: 'person_request',
    reference: null,
    approvals: 1,
    actor: null,
    requestedBy: 'test',
    request: null,
    now: world.now(),
  } as const
  const answering = (state: Parameters<typeof requestErasure>[1]) => {
    const decision = requestErasure(command, state)
    if ('refused' in decision) throw new Error(decision.refused)
    return decision
  }
  await execute(store, erasure, answering, contextOf(world))
  world.vault.closeSubject(orgId, patientId)
  const about = { patientId, identifier, aiReviewId, erasure, streams, objects: [key, raw, upload] }
  return { ...about, review, task, instance, notification }
}

type Erasing = Awaited<ReturnType<typeof erasing>>

function depsFor({ streams }: Pick<Erasing, 'streams'>, changes: Partial<ProcessDependencies> = {}) {
  const configuration = { ...world.deps.configuration, erasureVaultHours: 0 }
  return {
    ...world.deps,
    configuration,
    async *patientStreams() {
      yield* streams
    },
    ...changes,
  }
}

async function eventsOf({ erasure }: Pick<Erasing, 'erasure'>): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  for await (const event of world.store.readStream(erasure.stream)) events.push(event)
  return events
}

/** Works the list off, as workers do after each crash, until nothing is due. Returns how many runs were cut off. */
async function workedOff(one: Erasing, deps: ProcessDependencies, rounds = 20): Promise<number> {
  let failures = 0
  for (let round = 0; round < rounds; round += 1) {
    const due = todosAfter(erasuresProcess, await eventsOf(one))
    if (due.length === 0) return failures
    for (const row of due)
      await whenWorkedOff(erasuresProcess, row, deps, world.now()).catch(() => {
        failures += 1
      })
  }
  return failures
}

/** A user whose account names the patient from the start. */
function linked({ patientId }: Erasing, userId: string, organisationIds: TenantId[] = [world.orgId]) {
  const at = world.now().toISOString()
  const account = { id: randomUUID(), clinicalPatientId: patientId, contactPreferences: null }
  return userFact('UserCreated', {
    userId,
    userType: 'patient',
    practitionerProfile: null,
    patientAccount: { ...account, createdAt: at, updatedAt: at },
    organisationIds,
  })
}

async function linkOf(userId: string): Promise<string | null> {
  const { state } = await world.store.load(users.of(userId))
  if (!isUser(state)) throw new Error('the user does not exist')
  return clinicalPatientOf(state)
}

const typesOf = async (one: Erasing) => (await eventsOf(one)).map(({ type }) => type)

async function expectErased(one: Erasing): Promise<void> {
  const { store, vault, orgId } = world
  const events = await eventsOf(one)
  const done = events.flatMap(({ type, data }) =>
    type === 'PatientErasureStepDone' ? [String(Reflect.get(Object(data), 'step'))] : [],
  )
  expect(done.toSorted()).toEqual([...ErasureStep.enum].toSorted())
  expect(events.at(-1)?.type).toBe('SubjectErased')
  expect(await vault.subjectKeyForReading(orgId, one.patientId)).toBe('destroyed')
  for (const key of one.objects) expect(await world.deps.objects.head(key)).toBeUndefined()
  expect((await store.load(one.review)).state.status).toBe('cancelled')
  expect((await store.load(one.task)).state.status).toBe('cancelled')
  expect((await store.load(one.instance)).state.status).toBe('cancelled')
  expect((await store.load(one.notification)).state.status).toBe('failed')
  expect([...(await patientsHolding(world, orgId, [one.identifier])).keys()]).toEqual([])
  const entry = readLedgerEntry(
    Buffer.from(await world.deps.objects.get(ledgerKey({ orgId, subjectId: one.patientId }))).toString(),
  )
  expect(entry && vault.isSigned(entry)).toBe(true)
}

describe('an erasure', () => {
  it('ends open work, deletes the objects, frees the identifiers and destroys the key', async () => {
    const one = await erasing()
    expect(await workedOff(one, depsFor(one))).toBe(0)
    await expectErased(one)
  })

  it.each(
    ErasureStep.enum
      .map((step) => step.replaceAll('_', '-'))
      .flatMap((place) => [`erasure-before-${place}`, `erasure-after-${place}`]),
  )('is complete after a crash at %s', async (point) => {
    const one = await erasing()
    let isAlive = true
    const failpoint = (name: string) => {
      if (name !== point || !isAlive) return
      isAlive = false
      throw new Error('killed')
    }
    expect(await workedOff(one, depsFor(one, { failpoint }))).toBe(1)
    expect(isAlive).toBe(false)
    await expectErased(one)
  })

  it('goes on with the other steps while one fails, and shows its code once', async () => {
    const one = await erasing()
    const removeVersions = () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
    const deps = depsFor(one, { objects: { ...world.deps.objects, removeVersions } })
    expect(await workedOff(one, deps, 4)).toBe(4)
    const { state } = await world.store.load(one.erasure)
    expect(state.erasure?.steps.get('objects_deleted')).toEqual({ doneAt: null, errorCode: 'ECONNREFUSED' })
    expect(state.erasure?.steps.get('work_ended')?.doneAt).toEqual(expect.any(String))
    expect(await world.vault.subjectKeyForReading(world.orgId, one.patientId)).not.toBe('destroyed')
    expect((await typesOf(one)).filter((type) => type === 'PatientErasureStepFailed')).toHaveLength(1)
    await workedOff(one, depsFor(one))
    await expectErased(one)
  })

  it('waits for the end of the last upload address', async () => {
    const one = await erasing()
    const imageId = randomUUID()
    const late = images.of(world.orgId, imageId)
    const closesAt = new Date(world.now().getTime() + 86_400_000).toISOString()
    await recordedIn(
      late,
      imageFact('ImageDeclared', { imageId, organisationId: world.orgId, patientId: one.patientId, closesAt }),
    )
    const streams = [...one.streams, late.stream]
    const deps = depsFor({ streams })
    await workedOff(one, deps, 3)
    expect((await world.store.load(one.erasure)).state.erasure?.steps.get('late_objects_deleted')).toBeUndefined()
    const upload = `uploads/${world.orgId}/${imageId}/${imageId}`
    await world.deps.objects.put(upload, Buffer.from('late canary'), 'image/jpeg')
    world.pass(world.configuration.uploadUrlTtlSeconds + 1)
    await workedOff(one, deps)
    await expectErased(one)
    expect(await world.deps.objects.head(upload)).toBeUndefined()
  })

  it('waits for the end of an open attempt, and not for one of a processor whose clock was months ahead', async () => {
    const one = await erasing()
    const { aiReviewId } = one
    const attempted = (seconds: number) =>
      reviewFact('AiReviewCallAttempted', {
        aiReviewId,
        attemptId: randomUUID(),
        leaseUntil: new Date(world.now().getTime() + seconds * 1_000).toISOString(),
      })
    await recordedIn(one.review, attempted(90 * 86_400), attempted(20))
    await workedOff(one, depsFor(one), 3)
    expect((await world.store.load(one.erasure)).state.erasure?.steps.get('late_objects_deleted')).toBeUndefined()
    const raw = `raw-responses/${world.orgId}/${aiReviewId}/late`
    await world.deps.objects.put(raw, Buffer.from('late canary'), 'application/json')
    world.pass(21)
    await workedOff(one, depsFor(one))
    await expectErased(one)
    expect(await world.deps.objects.head(raw)).toBeUndefined()
  })

  it('ends an assessment and deletes its photograph that a process took before it knew of the erasure', async () => {
    const one = await erasing()
    const { orgId, store } = world
    const [assessmentId, imageId] = [randomUUID(), randomUUID()]
    const late = assessments.of(orgId, assessmentId)
    const key = `images/2026-03-01/${orgId}/${assessmentId}/${imageId}/0a1b2c`
    const failpoint = (name: string) => {
      if (name === 'erasure-before-keys-destroyed') throw new Error('killed')
    }
    const streams = [...one.streams, late.stream]
    await workedOff(one, depsFor({ streams }, { failpoint }), 4)
    expect((await store.load(one.erasure)).state.erasure?.steps.get('late_objects_deleted')?.doneAt).toBeDefined()
    await world.deps.objects.put(key, Buffer.from('late canary'), 'image/jpeg')
    const { images: received, ...submitted } = assessmentFact('AssessmentSubmitted').data
    await recordedIn(
      late,
      assessmentFact('AssessmentRequested', { assessmentId, organisationId: orgId, patientId: one.patientId }),
      assessmentFact('AssessmentSubmitted', {
        ...submitted,
        assessmentId,
        images: received.map((image) => ({ ...image, object: { ...image.object, key } })),
      }),
    )
    expect(await workedOff(one, depsFor({ streams }))).toBe(0)
    await expectErased(one)
    expect((await store.load(late)).state).toMatchObject({ status: 'failed', code: 'CANCELLED' })
    expect(await world.deps.objects.head(key)).toBeUndefined()
  })

  it('is followed by a sweep of what a process accepted late that did not know of it', async () => {
    const one = await erasing()
    await workedOff(one, depsFor(one))
    await expectErased(one)
    const [imageId, aiReviewId] = [randomUUID(), randomUUID()]
    const { orgId } = world
    const { patientId } = one
    const late = images.of(orgId, imageId)
    const review = aiReviews.of(orgId, aiReviewId)
    const deps = depsFor({ streams: [...one.streams, late.stream, review.stream] })
    const keys = [`images/2026-03-01/${orgId}/${imageId}/${imageId}/0a1b2c`, `raw-responses/${orgId}/${aiReviewId}/one`]
    const [key = ''] = keys
    const { object } = imageFact('ImageReceived').data
    const accept = async () => {
      for (const place of keys) await world.deps.objects.put(place, Buffer.from('late canary'), 'image/jpeg')
    }
    // The guard of a process that lags refuses nothing.
    const guard = createErasureGuard({ isClosed: () => false })
    const events = [
      imageFact('ImageDeclared', { imageId, organisationId: orgId, patientId, closesAt: world.now().toISOString() }),
      imageFact('ImageReceived', { imageId, object: { ...object, key } }),
    ]
    guard({ stream: late.stream, events, context: contextOf(world), state: undefined })
    await recordedIn(late, ...events)
    await recordedIn(review, reviewFact('AiReviewRequested', { aiReviewId, orgId, patientId }))
    await accept()

    const destroyed = { orgId, patientId, destroyedAt: world.now().toISOString() }
    const sweep = createErasedSweep({ deps, erasures: { destroyedKeys: () => [destroyed] } })
    const open = new AbortController().signal
    const left = async () => {
      const found = await Promise.all(keys.map((place) => world.deps.objects.head(place)))
      return found.filter((each) => each !== undefined).length
    }
    // Others may still lag.
    expect([await sweep(open), await left()]).toEqual([0, 2])
    world.pass(world.configuration.uploadUrlTtlSeconds + 601)
    expect([await sweep(open), await left()]).toEqual([2, 0])
    expect((await world.store.load(review)).state.status).toBe('cancelled')
    // A process stood still for hours.
    await accept()
    expect([await sweep(open), await left()]).toEqual([0, 2])
    world.pass(86_400)
    expect([await sweep(open), await left()]).toEqual([2, 0])
    expect((await typesOf(one)).at(-1)).toBe('SubjectErased')
  })

  it('is made again in a bucket that was restored from a copy of before, for each patient who can be swept', async () => {
    // The ledger is in the order of ids, so the sweep goes on after the one that fails.
    const [failing, one] = [await erasing(), await erasing()].toSorted((a, b) => (a.patientId < b.patientId ? -1 : 1))
    if (one === undefined || failing === undefined) throw new Error('two patients')
    for (const each of [one, failing]) await workedOff(each, depsFor(each))
    const { objects } = world.deps
    const { orgId } = world
    const open = new AbortController().signal
    let isAway = true
    const deps: ProcessDependencies = {
      ...depsFor({ streams: [...one.streams, ...failing.streams] }),
      patientStreams: async function* (_, patientId) {
        if (isAway && patientId === failing.patientId) throw new Error('a stream that nobody can read')
        yield* patientId === one.patientId ? one.streams : failing.streams
      },
    }
    const sweep = createRestoredBucketSweep(deps)
    const restore = async (patient: typeof one) => {
      for (const place of patient.objects) await objects.put(place, Buffer.from('canary'), 'image/jpeg')
      await objects.removeVersions(ledgerKey({ orgId, subjectId: patient.patientId }))
    }
    const leftOf = async (patient: typeof one) => {
      const keys = [...patient.objects, ledgerKey({ orgId, subjectId: patient.patientId })]
      const found = await Promise.all(keys.map((place) => objects.head(place)))
      return keys.filter((_, at) => found[at] !== undefined)
    }
    // Entries of the other tests that have no entry in the bucket.
    isAway = false
    await sweep(open)
    isAway = true
    for (const each of [one, failing]) await restore(each)
    // It compares once a day.
    expect([await sweep(open), (await leftOf(one)).length]).toEqual([0, one.objects.length])
    world.pass(86_401)
    await expect(sweep(open)).rejects.toThrow('a stream that nobody can read')
    const entry = ledgerKey({ orgId, subjectId: one.patientId })
    expect([await leftOf(one), await leftOf(failing)]).toEqual([[entry], failing.objects])
    isAway = false
    // Entries that somebody wrote into the database erase nothing.
    const forged = new Proxy(world.vault, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (name === 'isSigned') return () => false
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    expect(await createRestoredBucketSweep({ ...deps, vault: forged })(open)).toBe(0)
    expect(await sweep(open)).toBe(failing.objects.length)
    expect(readLedgerEntry(Buffer.from(await objects.get(entry)).toString())?.subjectId).toBe(one.patientId)
  })

  it('takes the link from the account of the person, who keeps the account, and ends where the user is erased too', async () => {
    const one = await erasing()
    const [person, erased] = [randomUUID(), randomUUID()]
    const created = linked(one, person)
    await recordedIn(users.of(person), created)
    await recordedIn(users.of(erased), linked(one, erased), userFact('UserErasureStarted', { userId: erased }))
    expect(await workedOff(one, depsFor(one, { usersOfPatient: async () => [person, erased] }))).toBe(0)
    await expectErased(one)
    const { state } = await world.store.load(users.of(person))
    const { id } = created.data.patientAccount ?? {}
    expect(state).toMatchObject({ status: 'active', patientAccount: { id, clinicalPatientId: null } })
    expect((await world.store.load(users.of(erased))).revision).toBe(1n)
  })

  it('takes the link of a former member, and none to a patient of another organisation with the same id', async () => {
    const one = await erasing()
    const other = tenantOfFact(randomUUID())
    const [left, joinedLater, foreign, linkedLater] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
    const membershipId = randomUUID()
    const of = (userId: string) => ({ userId, membershipId, organisationId: world.orgId })
    const joined = (userId: string) => userFact('UserMembershipAdded', of(userId))
    const removed = (userId: string) => userFact('UserMembershipRemoved', of(userId))
    await recordedIn(users.of(left), linked(one, left), removed(left))
    await recordedIn(users.of(joinedLater), linked(one, joinedLater, []), joined(joinedLater), removed(joinedLater))
    await recordedIn(users.of(foreign), linked(one, foreign, [other]))
    const { patientAccount } = linked(one, linkedLater).data
    await recordedIn(
      users.of(linkedLater),
      userFact('UserCreated', { userId: linkedLater, userType: 'patient', organisationIds: [world.orgId] }),
      removed(linkedLater),
      userFact('UserChanged', { userId: linkedLater, patientAccount, organisationIds: [other] }),
    )
    const found = [left, joinedLater, foreign, linkedLater]
    expect(await workedOff(one, depsFor(one, { usersOfPatient: async () => found }))).toBe(0)
    await expectErased(one)
    expect(await Promise.all(found.map(linkOf))).toEqual([null, null, one.patientId, one.patientId])
  })

  it('takes a link that a process made before it knew of the erasure, also after the key is destroyed', async () => {
    const one = await erasing()
    const [before, after] = [randomUUID(), randomUUID()]
    const found: string[] = []
    const link = async (userId: string) => {
      await recordedIn(users.of(userId), linked(one, userId))
      found.push(userId)
    }
    const deps = depsFor(one, { usersOfPatient: async () => found })
    const failpoint = (name: string) => {
      if (name === 'erasure-before-keys-destroyed') throw new Error('killed')
    }
    await workedOff(one, { ...deps, failpoint }, 4)
    expect((await world.store.load(one.erasure)).state.erasure?.steps.get('account_unlinked')?.doneAt).toBeDefined()
    await link(before)
    expect(await workedOff(one, deps)).toBe(0)
    await expectErased(one)
    expect(await linkOf(before)).toBeNull()
    await link(after)
    const destroyed = { orgId: world.orgId, patientId: one.patientId, destroyedAt: world.now().toISOString() }
    world.pass(world.configuration.uploadUrlTtlSeconds + 601)
    await createErasedSweep({ deps, erasures: { destroyedKeys: () => [destroyed] } })(new AbortController().signal)
    expect(await linkOf(after)).toBeNull()
  })

  it('shares the rewriting of the vault with others', async () => {
    const [one, other] = [await erasing(), await erasing()]
    const configuration = { ...world.deps.configuration, erasureVaultHours: 1 }
    let rewritings = 0
    const vault = observed(world.vault, (method) => {
      if (method === 'rewriteFiles') rewritings += 1
    })
    await workedOff(one, depsFor(one))
    await workedOff(other, depsFor(other, { configuration, vault }), 4)
    expect(rewritings).toBe(0)
    expect((await typesOf(other)).at(-1)).toBe('PatientErasureStepDone')
    await workedOff(other, depsFor(other, { vault }))
    expect(rewritings).toBe(1)
    await expectErased(other)
  })
})
