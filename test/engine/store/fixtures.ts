import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import {
  MissingKeyError,
  onlyEventKey,
  type EventKey,
  type KeyVault,
  type SubjectKey,
} from '../../../platform/kit/key-vault.ts'
import { openEventStore, type EventStore, type EventStoreOptions } from '../../../engine/store/event-store.ts'
import type { Fold } from '../../../engine/store/events.ts'
import type { CommandContext } from '../../../platform/kit/tenants.ts'
import type { StoreLogger } from '../../../engine/store/errors.ts'
import { defineEvent, Phi, type EventOf } from '../../../engine/store/schema.ts'

const visitEvents = {
  VisitOpened: defineEvent(
    'VisitOpened',
    Type.Object({
      patientId: Type.String(),
      room: Type.Integer(),
      name: Type.Optional(Phi(Type.String())),
      contacts: Type.Optional(Phi(Type.Array(Type.Object({ phone: Type.String() })))),
    }),
    { subject: 'patientId' },
  ),
  VisitNoted: defineEvent('VisitNoted', Type.Object({ room: Type.Integer(), text: Type.Optional(Type.String()) })),
}

export type VisitEvent = EventOf<typeof visitEvents>

/** Counts events and stores rooms in order; `names` contains the decrypted members. */
interface VisitState {
  readonly rooms: readonly number[]
  readonly names: readonly (string | null)[]
}

/** Each test file has its own categories, so a shared real server can serve it. */
export function visitCategory() {
  const category = `visit_${randomBytes(5).toString('hex')}`
  const channel = `${category}.events`
  const publicEvent = defineEvent(`${category}.opened`, Type.Object({ visit_id: Type.String() }))
  const catalogue = createCatalogue([
    { category, events: visitEvents },
    { category: channel, events: { Opened: publicEvent } },
  ])
  const fold: Fold<VisitState, VisitEvent> = {
    category,
    initialState: { rooms: [], names: [] },
    evolve: (state, event) => ({
      rooms: [...state.rooms, event.data.room],
      names: event.type === 'VisitOpened' ? [...state.names, event.data.name ?? null] : state.names,
    }),
  }
  return { category, channel, catalogue, fold, stream: (id: string = randomUUID()) => `${category}-org-${id}` }
}

export function noted(room: number, text?: string): VisitEvent {
  return { type: 'VisitNoted', data: text === undefined ? { room } : { room, text } }
}

export function opened(patientId: string, room: number, name?: string): VisitEvent {
  return { type: 'VisitOpened', data: name === undefined ? { patientId, room } : { patientId, room, name } }
}

export function newContext(): CommandContext {
  return {
    commandId: randomUUID(),
    correlationId: randomUUID(),
    orgId: 'org',
    clientId: 'client',
    requestId: 'request',
  }
}

/** Keys in memory, with the vault's rules. `destroy` erases a subject; `lose` drops a key that should exist. */
export class MemoryKeys implements KeyVault {
  readonly #keys = new Map<string, SubjectKey>()
  signingKey = createSecretKey(randomBytes(32))
  reads = 0

  async subjectKeyForWriting(orgId: string, subjectId: string): Promise<SubjectKey> {
    const id = `${orgId}/${subjectId}`
    const key = this.#keys.get(id) ?? createSecretKey(randomBytes(32))
    this.#keys.set(id, key)
    return key
  }

  async subjectKeyForReading(orgId: string, subjectId: string): Promise<SubjectKey> {
    this.reads += 1
    const key = this.#keys.get(`${orgId}/${subjectId}`)
    if (key === undefined) throw new MissingKeyError('subject', subjectId)
    return key
  }

  async eventKeys(): Promise<readonly EventKey[]> {
    return onlyEventKey(this.signingKey)
  }

  destroy(orgId: string, subjectId: string): void {
    this.#keys.set(`${orgId}/${subjectId}`, 'destroyed')
  }

  lose(orgId: string, subjectId: string): void {
    this.#keys.delete(`${orgId}/${subjectId}`)
  }
}

/** Log lines for a test. */
export class RecordingLogger implements StoreLogger {
  readonly lines: string[] = []
  info(_: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push(message)
  }
  warn(_: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push(message)
  }
  error(_: Readonly<Record<string, unknown>>, message: string): void {
    this.lines.push(message)
  }
}

/** A store that closes with the test's `await using`. */
export async function openTestStore(
  options: Omit<EventStoreOptions, 'vault'> & { readonly vault?: KeyVault },
): Promise<EventStore & AsyncDisposable> {
  const store = await openEventStore({ vault: new MemoryKeys(), ...options })
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}

/** Resolves when `isTrue` returns true; polls with a short timer. The test's time limit bounds it. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** Resolves when a count has not changed for forty turns of a short timer. */
export async function untilItRests(count: () => number): Promise<void> {
  for (let [turns, before] = [0, count()]; turns < 40; turns = count() === before ? turns + 1 : 0) {
    before = count()
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
