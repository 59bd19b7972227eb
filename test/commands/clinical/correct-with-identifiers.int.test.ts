import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { correctWithIdentifiers } from '../../../commands/clinical/correct-with-identifiers.ts'
import { patientsHolding } from '../../../commands/clinical/identifier-reservations.ts'
import { registerWithIdentifiers } from '../../../commands/clinical/register-with-identifiers.ts'
import type { RegisterPatient } from '../../../commands/clinical/register-patient.ts'
import { identifierKeyOf } from '../../../contracts/clinical/identifier-key.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { reservations, type ReservationState } from '../../../engine/commands/reservation/aggregate.ts'
import type { ReservationEvent } from '../../../engine/commands/reservation/events.ts'
import { problem } from '../../../platform/http/problems.ts'
import { AppendOutcomeUnknownError } from '../../../engine/store/errors.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { patients } from '../../../streams/patient/aggregate.ts'
import {
  contextOf,
  interrupted,
  openDecisionWorld,
  problemOf,
  streamOfCall,
  type DecisionWorld,
} from '../../engine/commands/decision-world.ts'

let world: DecisionWorld
beforeAll(async () => {
  world = await openDecisionWorld()
})
afterAll(() => world.close())

const identifier = (value: string) => ({ scheme: 'nhs', value })

/** The id of a patient who has these identifiers. */
async function registered(values: readonly string[], store: EventStore = world.store): Promise<string> {
  const command: RegisterPatient = {
    patientId: randomUUID(),
    organisationId: world.orgId,
    person: { givenName: 'Ada', familyName: 'Canary', dob: '1970-02-28', identifiers: values.map(identifier) },
    now: world.now(),
    fingerprint: null,
  }
  await registerWithIdentifiers({ ...world, store }, world.orgId, command, contextOf(world))
  return command.patientId
}

function corrected(patientId: string, values: readonly string[], store: EventStore = world.store) {
  const command = { identifiers: values.map(identifier), now: world.now() }
  return correctWithIdentifiers(
    { ...world, store },
    { orgId: world.orgId, patientId },
    command,
    contextOf(world),
    () => undefined,
  )
}

const holders = async (...values: string[]) => [
  ...(await patientsHolding(world, world.orgId, values.map(identifier))).keys(),
]

async function stored(patientId: string) {
  const { state, revision } = await world.otherStore.load(patients.of(world.orgId, patientId))
  if (state.status !== 'registered') throw new Error('the patient is not registered')
  return { values: state.person?.identifiers.map(({ value }) => value), revision }
}

/** A store whose process dies at the nth append to streams of a category: before or after it. */
function dying(
  category: string,
  nth: number,
  when: 'before' | 'after',
): { readonly store: EventStore; readonly death: Error } {
  const death = new Error('killed')
  let appends = 0
  let isDead = false
  const store = new Proxy(world.store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'append' && name !== 'load' && name !== 'loadCached')
        return (...parameters: readonly unknown[]): unknown => Reflect.apply(member, target, parameters)
      return async (...parameters: readonly unknown[]): Promise<unknown> => {
        const isLast =
          name === 'append' && streamOfCall(parameters).startsWith(`${category}-`) && (appends += 1) === nth
        if (isDead || (isLast && when === 'before')) {
          isDead = true
          throw death
        }
        const answer: unknown = await Reflect.apply(member, target, parameters)
        if (!isLast) return answer
        isDead = true
        throw death
      }
    },
  })
  return { store, death }
}

/** Ends a claim as earlier versions did: nothing comes into the stream of its patient. */
async function endClaim(value: string): Promise<void> {
  const target = reservations.of(world.orgId, world.vault.fingerprint(identifierKeyOf(identifier(value))))
  const releasedAt = world.now().toISOString()
  const end = (state: ReservationState): ReservationEvent[] =>
    state.status === 'free'
      ? []
      : [{ type: 'ReservationReleased', data: { claimId: state.reservation.claimId, releasedAt } }]
  await execute(world.otherStore, target, end, contextOf(world))
}

async function killed(patientId: string, values: readonly string[], ...at: Parameters<typeof dying>): Promise<void> {
  const { store, death } = dying(...at)
  await expect(corrected(patientId, values, store)).rejects.toBe(death)
}

describe('correcting the identifiers of a patient', () => {
  it('claims added identifiers, and frees removed ones for others at once', async () => {
    const patient = await registered(['a1', 'a2'])
    expect(await corrected(patient, ['a2', 'a3'])).toMatchObject({
      state: { status: 'registered', person: { identifiers: [identifier('a2'), identifier('a3')] } },
      revision: 1n,
    })
    expect(await holders('a2', 'a3')).toEqual([patient])
    expect(await holders('a1')).toEqual([])
    expect(await problemOf(registered(['a3']))).toBe('patient-identifier-conflict')
    const next = await registered(['a1'])
    expect(await holders('a1')).toEqual([next])
    expect(await problemOf(corrected(patient, ['a1', 'a2', 'a3']))).toBe('patient-identifier-conflict')
    expect(await stored(patient)).toEqual({ values: ['a2', 'a3'], revision: 1n })
  })

  it('without a change appends nothing', async () => {
    const patient = await registered(['b1'])
    expect(await corrected(patient, ['b1'])).toMatchObject({ events: [], revision: 0n })
    const command = { givenName: 'Ada', now: world.now() }
    expect(
      await correctWithIdentifiers(
        world,
        { orgId: world.orgId, patientId: patient },
        command,
        contextOf(world),
        () => undefined,
      ),
    ).toMatchObject({ events: [] })
  })

  it('that is refused frees its claims', async () => {
    const [patient] = [await registered(['c1']), await registered(['c9'])]
    expect(await problemOf(corrected(patient, ['c1', 'c2', 'c9']))).toBe('patient-identifier-conflict')
    expect(await stored(patient)).toEqual({ values: ['c1'], revision: 0n })
    await registered(['c2'])
    const command = { identifiers: ['c1', 'c3'].map(identifier), now: world.now() }
    const changed = () => {
      throw problem('precondition-failed')
    }
    expect(
      await problemOf(
        correctWithIdentifiers(world, { orgId: world.orgId, patientId: patient }, command, contextOf(world), changed),
      ),
    ).toBe('precondition-failed')
    await registered(['c3'])
    expect(await stored(patient)).toEqual({ values: ['c1'], revision: 0n })
  })

  it('swaps identifiers of two patients only after one gives its own up', async () => {
    const [one, other] = [await registered(['d1']), await registered(['d2'])]
    expect(
      await Promise.all([problemOf(corrected(one, ['d2'])), problemOf(corrected(other, ['d1'], world.otherStore))]),
    ).toEqual(['patient-identifier-conflict', 'patient-identifier-conflict'])
    await corrected(one, [])
    await corrected(other, ['d1'])
    await corrected(one, ['d2'])
    expect([await holders('d1'), await holders('d2')]).toEqual([[other], [one]])
  })

  it('of an unknown patient is a 404, of an erased one a 410, and the identifiers stay taken', async () => {
    expect(await problemOf(corrected(randomUUID(), ['e1']))).toBe('not-found')
    const patient = await registered(['e1'])
    await world.vault.destroySubject(world.orgId, patient)
    expect(await problemOf(corrected(patient, ['e2'], world.otherStore))).toBe('subject-erased')
    expect(await problemOf(registered(['e1'], world.otherStore))).toBe('patient-identifier-conflict')
    expect(await problemOf(registered(['e2'], world.otherStore))).toBeNull()
  })
})

describe('corrections at the same time', () => {
  it('fifty, of ten patients with overlapping identifiers, give each identifier to one patient', async () => {
    const patients = await Promise.all(Array.from({ length: 10 }, () => registered([])))
    const values = ['f1', 'f2', 'f3']
    const wanted = (number: number) => values.filter((_, place) => number % 3 !== place)
    const all = patients.flatMap((patient, number) =>
      Array.from({ length: 5 }, (_, turn) => ({ patient, values: wanted(number + turn) })),
    )
    const problems = await Promise.all(
      all.map(({ patient, values: asked }, number) =>
        problemOf(corrected(patient, asked, number % 2 === 0 ? world.store : world.otherStore)),
      ),
    )
    expect(new Set(problems)).toEqual(new Set([null, 'patient-identifier-conflict']))
    const states = await Promise.all(patients.map(async (patient) => ({ patient, ...(await stored(patient)) })))
    for (const value of values) {
      const having = states.filter((state) => state.values?.includes(value)).map(({ patient }) => patient)
      expect(having.length).toBeLessThan(2)
      expect(await holders(value)).toEqual(having)
    }
  })

  it('twenty of one patient, which add and remove the same ones, leave it the last list, and free the rest', async () => {
    const patient = await registered(['g1'])
    const values = ['g1', 'g2', 'g3', 'g4']
    const asked = Array.from({ length: 20 }, (_, number) =>
      values.filter((_value, place) => (number & (1 << (place % 4))) === 0 || number % 5 === place),
    )
    const problems = await Promise.all(
      asked.map((each, number) =>
        problemOf(corrected(patient, each, number % 2 === 0 ? world.store : world.otherStore)),
      ),
    )
    expect(problems.filter((code) => code !== null && code !== 'conflict')).toEqual([])
    const { values: kept = [] } = await stored(patient)
    world.pass(31)
    for (const value of values) {
      const isKept = kept.includes(value)
      expect([value, await problemOf(registered([value]))]).toEqual([
        value,
        isKept ? 'patient-identifier-conflict' : null,
      ])
    }
  })

  it('no other request ends a claim that is about to be used', async () => {
    const patient = await registered([])
    const refused: (string | null)[] = []
    const store = interrupted(
      world.store,
      'patient',
      async () => void refused.push(await problemOf(registered(['h1'], world.otherStore))),
    )
    await corrected(patient, ['h1'], store)
    expect([refused, await holders('h1')]).toEqual([['patient-identifier-conflict'], [patient]])
  })

  it('an identifier that is removed and added back before it is freed stays', async () => {
    const patient = await registered(['i1', 'i2'])
    const freeing = interrupted(
      world.store,
      'reservation',
      async () => void (await corrected(patient, ['i1', 'i2'], world.otherStore)),
    )
    await corrected(patient, ['i2'], freeing)
    expect(await holders('i1')).toEqual([patient])

    await killed(patient, ['i1'], 'patient', 1, 'after')
    const ending = interrupted(
      world.store,
      'reservation',
      async () => void (await corrected(patient, ['i1', 'i2'], world.otherStore)),
    )
    expect(await problemOf(registered(['i2'], ending))).toBe('patient-identifier-conflict')
    world.pass(3600)
    expect(await problemOf(registered(['i2']))).toBe('patient-identifier-conflict')
    expect(await holders('i1', 'i2')).toEqual([patient])
  })
})

describe('a correction that is killed', () => {
  it('between claim and correction keeps its claims for 30 s from other patients, not from another correction of the same one', async () => {
    const patient = await registered([])
    await killed(patient, ['j1', 'j2'], 'patient', 1, 'before')
    expect(await stored(patient)).toEqual({ values: [], revision: 0n })
    expect(await holders('j1')).toEqual([])
    expect(await problemOf(registered(['j1']))).toBe('patient-identifier-conflict')
    await corrected(patient, ['j2'])
    expect(await holders('j2')).toEqual([patient])
    world.pass(30)
    const next = await registered(['j1'])
    expect(await holders('j1')).toEqual([next])
    expect(await problemOf(registered(['j2']))).toBe('patient-identifier-conflict')
  })

  it('between correction and confirmation keeps them for ever', async () => {
    const patient = await registered([])
    await killed(patient, ['k1'], 'patient', 1, 'after')
    expect(await holders('k1')).toEqual([patient])
    world.pass(3600)
    expect(await problemOf(registered(['k1']))).toBe('patient-identifier-conflict')
    expect(await corrected(patient, ['k1'])).toMatchObject({ events: [] })
  })

  it('before it freed a removed identifier leaves it to the next request', async () => {
    const patient = await registered(['l1'])
    await killed(patient, [], 'reservation', 1, 'before')
    expect(await stored(patient)).toEqual({ values: [], revision: 1n })
    expect(await holders('l1')).toEqual([])
    const next = await registered(['l1'])
    expect(await holders('l1')).toEqual([next])
  })
})

describe('a correction that stalls for longer than its claims are kept', () => {
  it('is refused when another patient took an identifier, also if its process dies at its append', async () => {
    const patient = await registered(['p1'])
    let next = ''
    const { store, death } = dying('patient', 1, 'after')
    const stalled = interrupted(store, 'patient', async () => {
      world.pass(31)
      next = await registered(['p3'], world.otherStore)
    })
    const end: unknown = await corrected(patient, ['p2', 'p3'], stalled).catch((error: unknown) => error)
    expect(end).not.toBe(death)
    expect(await stored(patient)).toEqual({ values: ['p1'], revision: 1n })
    expect([await holders('p1'), await holders('p2'), await holders('p3')]).toEqual([[patient], [], [next]])
  })

  it('frees its other claims when it is refused, but none that another correction of the patient uses', async () => {
    const patient = await registered([])
    await registered(['q9'])
    const refused: (string | null)[] = []
    const stalled = interrupted(world.store, 'patient', async () => {
      refused.push(await problemOf(corrected(patient, ['q1', 'q9'], world.otherStore)))
      refused.push(await problemOf(registered(['q1'], world.otherStore)))
    })
    await corrected(patient, ['q1'], stalled)
    expect(refused).toEqual(['patient-identifier-conflict', 'patient-identifier-conflict'])
    expect([await holders('q1'), await stored(patient)]).toEqual([[patient], { values: ['q1'], revision: 1n }])
  })

  it('is undone when another patient took an identifier after an earlier version ended its claim', async () => {
    const patient = await registered(['m1'])
    let next = ''
    const stalled = interrupted(world.store, 'patient', async () => {
      await endClaim('m3')
      next = await registered(['m3'], world.otherStore)
    })
    const command = { givenName: 'Grace', identifiers: ['m2', 'm3'].map(identifier), now: world.now() }
    expect(
      await problemOf(
        correctWithIdentifiers(
          { ...world, store: stalled },
          { orgId: world.orgId, patientId: patient },
          command,
          contextOf(world),
          () => undefined,
        ),
      ),
    ).toBe('patient-identifier-conflict')
    expect(await stored(patient)).toEqual({ values: ['m1'], revision: 2n })
    const { state } = await world.otherStore.load(patients.of(world.orgId, patient))
    expect(state).toMatchObject({ person: { givenName: 'Ada' } })
    expect([await holders('m1'), await holders('m2'), await holders('m3')]).toEqual([[patient], [], [next]])
    expect(await problemOf(registered(['m2']))).toBeNull()
  })

  it('stays valid if nobody took the identifiers, or gave them back', async () => {
    const patient = await registered([])
    await corrected(
      patient,
      ['n1'],
      interrupted(world.store, 'patient', async () => world.pass(31)),
    )
    expect(await holders('n1')).toEqual([patient])

    await registered(['n9'])
    const taken = interrupted(world.store, 'patient', async () => {
      world.pass(31)
      expect(await problemOf(registered(['n2', 'n9'], world.otherStore))).toBe('patient-identifier-conflict')
    })
    await corrected(patient, ['n1', 'n2'], taken)
    expect(await holders('n1', 'n2')).toEqual([patient])
    world.pass(3600)
    expect(await problemOf(registered(['n2']))).toBe('patient-identifier-conflict')
  })
})

describe('a correction whose outcome is unknown', () => {
  it('keeps its claims, because it may have happened', async () => {
    const patient = await registered([])
    const unknown = new AppendOutcomeUnknownError('patient', 3)
    const silent = interrupted(world.store, 'patient', async () => {
      throw unknown
    })
    await expect(corrected(patient, ['o1'], silent)).rejects.toBe(unknown)
    expect(await problemOf(registered(['o1']))).toBe('patient-identifier-conflict')
  })
})
