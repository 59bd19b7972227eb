import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answeringRefusals } from '../../../engine/commands/refusals.ts'
import { registerPatient, type RegisterPatient } from '../../../commands/clinical/register-patient.ts'
import { identifierReservations, patientsHolding } from '../../../commands/clinical/identifier-reservations.ts'
import { registerWithIdentifiers } from '../../../commands/clinical/register-with-identifiers.ts'
import { requirePatient } from '../../../commands/clinical/require-patient.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { AppendOutcomeUnknownError, RevisionConflictError } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import { parseOwnedStream } from '../../../engine/aggregates/aggregate.ts'
import { hash } from '../../streams/facts.ts'
import {
  contextOf,
  interrupted,
  openDecisionWorld,
  problemOf,
  streamOfCall,
  watched,
  type DecisionWorld,
} from '../../engine/commands/decision-world.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const identifier = (value: string) => ({ scheme: 'nhs', value })

function registration(...values: string[]): RegisterPatient {
  return {
    patientId: randomUUID(),
    organisationId: world.orgId,
    person: { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers: values.map(identifier) },
    now: world.now(),
    fingerprint: null,
  }
}

/** The registration of a person with these identifiers instead. */
function having(command: RegisterPatient, identifiers: RegisterPatient['person']['identifiers']): RegisterPatient {
  return { ...command, person: { ...command.person, identifiers } }
}

function register(command: RegisterPatient, store: EventStore = world.store) {
  return registerWithIdentifiers({ ...world, store }, world.orgId, command, contextOf(world))
}

const holders = async (...values: string[]) => [
  ...(await patientsHolding(world, world.orgId, values.map(identifier))).keys(),
]
const statusOf = async ({ patientId }: RegisterPatient) =>
  (await world.otherStore.load(patients.of(world.orgId, patientId))).state.status

/** The types of the events in the stream of a patient. */
async function typesOf({ patientId }: RegisterPatient): Promise<string[]> {
  const types: string[] = []
  for await (const { type } of world.store.readStream(patients.of(world.orgId, patientId).stream)) types.push(type)
  return types
}

/** A store whose process dies when the append of its registration has returned. */
function dyingAfterRegistration(store: EventStore): { readonly store: EventStore; readonly death: Error } {
  const death = new Error('killed')
  let isDead = false
  const dying = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'append' && name !== 'load')
        return (...parameters: readonly unknown[]): unknown => Reflect.apply(member, target, parameters)
      return async (...parameters: readonly unknown[]): Promise<unknown> => {
        if (isDead) throw death
        const answer: unknown = await Reflect.apply(member, target, parameters)
        isDead = name === 'append' && streamOfCall(parameters).startsWith('patient-')
        if (isDead) throw death
        return answer
      }
    },
  })
  return { store: dying, death }
}

/** A registration whose process dies before the given append. */
async function crashed(command: RegisterPatient, at: 'registration' | 'confirmation'): Promise<void> {
  const stop = new Error('killed')
  const category = at === 'registration' ? 'patient' : 'reservation'
  let appends = 0
  const dying = new Proxy(world.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      // These read nothing, so the process cannot die in them.
      if (name === 'presume' || name === 'cached')
        return (...parameters: readonly unknown[]): unknown => Reflect.apply(member, target, parameters)
      return async (...parameters: readonly unknown[]): Promise<unknown> => {
        if (name === 'append') appends += 1
        const isBeyond = appends > command.person.identifiers.length
        if (
          isBeyond &&
          (name === 'load' || name === 'loadCached' || name === 'append') &&
          streamOfCall(parameters).startsWith(`${category}-`)
        )
          throw stop
        return Reflect.apply(member, target, parameters)
      }
    },
  })
  await expect(register(command, dying)).rejects.toBe(stop)
}

const answering = answeringRefusals({ 'registration-revoked': { code: 'patient-identifier-conflict' } })

describe('registering a patient with identifiers', () => {
  it('gives each identifier to one patient', async () => {
    const first = registration('a1', 'a2')
    expect(await register(first)).toMatchObject({ state: { status: 'registered', patientId: first.patientId } })
    expect(await holders('a1', 'a2')).toEqual([first.patientId])
    const second = registration('a0', 'a2', 'a3')
    expect(await problemOf(register(second))).toBe('patient-identifier-conflict')
    expect(await statusOf(second)).toBe('absent')
    expect(await problemOf(requirePatient(world, world.orgId, second.patientId))).toBe('patient-not-found')
    // The claims of the refused registration are free again at once.
    expect(await register(registration('a0', 'a3'))).toMatchObject({ state: { status: 'registered' } })
  })

  it('points at the identifier of another patient, and never names that patient', async () => {
    const { state } = await register(registration('p1'))
    const refusal = await register(registration('p0', 'p1')).catch((error: unknown) => error)
    expect(refusal).toMatchObject({
      code: 'patient-identifier-conflict',
      errors: [{ pointer: '/identifiers/1', code: 'other-patient' }],
    })
    expect(JSON.stringify(refusal)).not.toContain(state.patientId)
    const late = registration('p2', 'p3')
    const stalled = interrupted(world.store, 'patient', async () => {
      world.pass(31)
      await register(registration('p3'), world.otherStore)
    })
    expect(await register(late, stalled).catch((error: unknown) => error)).toMatchObject({
      errors: [{ pointer: '/identifiers/1' }],
    })
    expect(await register(late).catch((error: unknown) => error)).toMatchObject({
      errors: [{ pointer: '/identifiers/1' }],
    })
  })

  it('does not conflict with another organisation', async () => {
    await register(registration('b1'))
    const orgId = tenantOfFact(randomUUID())
    const command = { ...registration('b1'), organisationId: orgId }
    await registerWithIdentifiers(world, orgId, command, contextOf({ orgId }))
    expect([...(await patientsHolding(world, orgId, [identifier('b1')])).keys()]).toEqual([command.patientId])
    expect(await problemOf(requirePatient(world, world.orgId, command.patientId))).toBe('patient-not-found')
  })

  it('compares identifiers in NFC without surrounding blanks, and stores them as given', async () => {
    const given = { scheme: ' h\u00f4pital', value: '\u212b-17\t' }
    const command = having(registration(), [given])
    const { state } = await register(command)
    expect(state).toMatchObject({ person: { identifiers: [given] } })
    const same = { scheme: 'ho\u0302pital ', value: 'A\u030a-17' }
    const other = having(registration(), [same])
    expect(await problemOf(register(other))).toBe('patient-identifier-conflict')
    expect([...(await patientsHolding(world, world.orgId, [same])).keys()]).toEqual([command.patientId])
    const lowerCase = having(registration(), [{ ...same, value: 'a\u030a-17' }])
    expect(await problemOf(register(lowerCase))).toBe(null)
  })

  it('distinguishes identifiers with similar spelling, and claims a repeated one once', async () => {
    await register(having(registration(), [{ scheme: 'a', value: 'b-c' }]))
    await register(
      having(registration(), [
        { scheme: 'a-b', value: 'c' },
        { scheme: 'a-b', value: 'c' },
      ]),
    )
    expect(await problemOf(register(having(registration(), [{ scheme: 'a', value: 'b-c' }])))).toBe(
      'patient-identifier-conflict',
    )
  })

  it('claims in a fixed order, so that two registrations never block each other', async () => {
    const orderOf = async (...values: string[]) => {
      const order: string[] = []
      const orgId = tenantOfFact(randomUUID())
      const store = watched(
        world.store,
        (stream) => void (stream.startsWith('reservation-') && order.push(parseOwnedStream(stream).id)),
      )
      await registerWithIdentifiers(
        { ...world, store },
        orgId,
        { ...registration(...values), organisationId: orgId },
        contextOf({ orgId }),
      )
      return order
    }
    const order = await orderOf('l1', 'l2', 'l3')
    expect(new Set(order).size).toBe(3)
    expect(await orderOf('l3', 'l1', 'l2')).toEqual(order)
  })

  it('accepts one of ten at once with overlapping identifiers', async () => {
    const commands = Array.from({ length: 10 }, (_, index) =>
      index % 2 === 0 ? registration('c1', 'c2') : registration('c2', 'c1', `c-own-${index}`),
    )
    const problems = await Promise.all(
      commands.map((command, index) => problemOf(register(command, index % 3 === 0 ? world.store : world.otherStore))),
    )
    expect(problems.filter((code) => code === null)).toHaveLength(1)
    expect(problems.filter((code) => code === 'patient-identifier-conflict')).toHaveLength(9)
    const winner = commands[problems.indexOf(null)]
    expect(await holders('c1', 'c2')).toEqual([winner?.patientId])
    const losers = commands.filter((command) => command !== winner)
    expect(await Promise.all(losers.map(statusOf))).toEqual(losers.map(() => 'absent'))
  })
})

describe('a keyed registration', () => {
  it('repeated fifty times at once is one patient, and later still the same', async () => {
    const command = { ...registration('d1'), fingerprint: hash('f') }
    const all = await Promise.all(
      Array.from({ length: 50 }, (_, index) => register(command, index % 2 === 0 ? world.store : world.otherStore)),
    )
    expect(all.filter(({ events }) => events.length > 0)).toHaveLength(1)
    world.pass(86_400)
    expect(await register({ ...command, now: world.now() })).toMatchObject({
      events: [],
      state: { registeredAt: command.now.toISOString() },
    })
  })

  it('refuses another body, and keeps the identifiers of the first one', async () => {
    const command = { ...registration('e1'), fingerprint: hash('f') }
    await register(command)
    expect(await problemOf(register(having({ ...command, fingerprint: hash('e') }, [identifier('e2')])))).toBe(
      'idempotency-key-reused',
    )
    expect(await holders('e1')).toEqual([command.patientId])
    expect(await holders('e2')).toEqual([])
  })
})

describe('a registration that is killed', () => {
  it('between claim and registration keeps its identifiers for 30 s, then frees them', async () => {
    const lost = registration('f1', 'f2')
    await crashed(lost, 'registration')
    expect(await problemOf(register(registration('f1')))).toBe('patient-identifier-conflict')
    world.pass(30)
    const next = registration('f1', 'f2')
    await register(next)
    expect(await holders('f1', 'f2')).toEqual([next.patientId])
  })

  it('between registration and confirmation keeps them for ever', async () => {
    const owner = { ...registration('g1', 'g2'), fingerprint: hash('f') }
    await crashed(owner, 'confirmation')
    expect(await holders('g1', 'g2')).toEqual([owner.patientId])
    world.pass(3600)
    expect(await problemOf(register(registration('g2')))).toBe('patient-identifier-conflict')
    expect(await register(owner)).toMatchObject({ events: [], state: { status: 'registered' } })
  })

  it('and repeated with its key continues', async () => {
    const command = { ...registration('h1'), fingerprint: hash('f') }
    await crashed(command, 'registration')
    expect(await register(command)).toMatchObject({ state: { status: 'registered' } })
    expect(await holders('h1')).toEqual([command.patientId])
  })
})

describe('a registration that stalls for longer than its claims are kept', () => {
  it('is refused when another patient took one of its identifiers, and then has none', async () => {
    for (const taken of ['i1', 'i2', 'i3']) {
      const values = ['i1', 'i2', 'i3'].map((value) => `${taken}-${value}`)
      const late = registration(...values)
      const next = registration(`${taken}-${taken}`)
      const stalled = interrupted(world.store, 'patient', async () => {
        world.pass(31)
        await register(next, world.otherStore)
      })
      expect(await problemOf(register(late, stalled))).toBe('patient-identifier-conflict')
      expect([await statusOf(late), await typesOf(late)]).toEqual(['absent', ['PatientIdentifierClaimExpired']])
      expect(await problemOf(requirePatient(world, world.orgId, late.patientId))).toBe('patient-not-found')
      expect(await holders(...values)).toEqual([next.patientId])
      const free = values.filter((value) => value !== `${taken}-${taken}`)
      expect(await problemOf(register(registration(...free)))).toBeNull()
    }
  })

  it('is refused also if its process dies at its append, and its repeat too', async () => {
    const late = { ...registration('m1', 'm2'), fingerprint: hash('f') }
    const next = registration('m2')
    const { store, death } = dyingAfterRegistration(world.store)
    const stalled = interrupted(store, 'patient', async () => {
      world.pass(31)
      await register(next, world.otherStore)
    })
    const end: unknown = await register(late, stalled).catch((error: unknown) => error)
    expect(end).not.toBe(death)
    expect(await problemOf(register(late, world.otherStore))).toBe('patient-identifier-conflict')
    expect([await statusOf(late), await holders('m1', 'm2')]).toEqual(['absent', [next.patientId]])
  })

  it('is refused when its process died before, and its request lands later', async () => {
    const late = { ...registration('n1'), fingerprint: hash('f') }
    const next = registration('n1')
    const unknown = new AppendOutcomeUnknownError('patient', 3)
    let land: (() => Promise<unknown>) | undefined
    const silent = new Proxy(world.store, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...parameters: readonly unknown[]): unknown => {
          if (name !== 'append' || !streamOfCall(parameters).startsWith('patient-'))
            return Reflect.apply(member, target, parameters)
          land = async () => Reflect.apply(member, target, parameters)
          return Promise.reject(unknown)
        }
      },
    })
    await expect(register(late, silent)).rejects.toBe(unknown)
    world.pass(31)
    await register(next)
    await expect(land?.()).rejects.toBeInstanceOf(RevisionConflictError)
    expect([await statusOf(late), await holders('n1')]).toEqual(['absent', [next.patientId]])
  })

  it('claims its identifiers again when they are free again, and no older claim counts', async () => {
    const late = { ...registration('o1', 'o2'), fingerprint: hash('f') }
    await crashed(late, 'registration')
    await register(registration('o9'))
    world.pass(31)
    expect(await problemOf(register(registration('o1', 'o9')))).toBe('patient-identifier-conflict')
    expect(await typesOf(late)).toEqual(['PatientIdentifierClaimExpired'])
    // Another patient is about to end the claim that expired. The repeat makes a new one, and dies before it confirms it.
    const { store, death } = dyingAfterRegistration(world.otherStore)
    const ending = interrupted(world.store, 'reservation', async () => {
      await expect(register(late, store)).rejects.toBe(death)
    })
    expect(await problemOf(register(registration('o2'), ending))).toBe('patient-identifier-conflict')
    expect([await statusOf(late), await holders('o1', 'o2')]).toEqual(['registered', [late.patientId]])
  })

  it('is revoked when a request with the same key gave up the claim of both', async () => {
    const late = registration('p7')
    const patient = { orgId: world.orgId, patientId: late.patientId, fingerprint: null, listed: [] }
    const first = identifierReservations(world, patient, contextOf(world))
    await first.take([identifier('p7')])
    const next = registration('p7')
    const stalled = interrupted(world.store, 'patient', async () => {
      await first.giveBack()
      await register(next, world.otherStore)
    })
    expect(await problemOf(register(late, stalled))).toBe('patient-identifier-conflict')
    expect([await statusOf(late), await holders('p7')]).toEqual(['revoked', [next.patientId]])
  })

  it('stays valid if no other request wanted its identifiers', async () => {
    const late = registration('j1')
    await register(
      late,
      interrupted(world.store, 'patient', async () => world.pass(31)),
    )
    expect(await holders('j1')).toEqual([late.patientId])
  })
})

describe('a registration whose outcome is unknown', () => {
  it('keeps its claims, because it may have happened', async () => {
    const command = registration('k1')
    const unknown = new AppendOutcomeUnknownError('patient', 3)
    const silent = interrupted(world.store, 'patient', async () => {
      throw unknown
    })
    await expect(register(command, silent)).rejects.toBe(unknown)
    expect(await problemOf(register(registration('k1')))).toBe('patient-identifier-conflict')
    // The registration had happened.
    await execute(
      world.store,
      patients.of(world.orgId, command.patientId),
      (state) => answering(registerPatient(command, state)),
      contextOf(world),
    )
    world.pass(31)
    expect(await problemOf(register(registration('k1')))).toBe('patient-identifier-conflict')
    expect(await holders('k1')).toEqual([command.patientId])
  })
})
