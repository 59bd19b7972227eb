import { randomBytes, randomUUID } from 'node:crypto'
import type { CommandDependencies } from '../../../engine/commands/dependencies.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { Problem, type ProblemCode } from '../../../platform/http/problems.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import type { Catalogue } from '../../../engine/store/catalogue.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { type CommandContext, tenantOfFact, type TenantId } from '../../../platform/kit/tenants.ts'
import { freshEventStore, hostedEventStore } from 'embedded-eventstore/testing'
import { freshVault } from '../../support/postgres.ts'

/** Dependencies of commands: a node, a vault, and a clock that only the test moves. */
export interface DecisionWorld extends CommandDependencies {
  readonly orgId: TenantId
  /** Address of the event store, for other clients than the platform. */
  readonly url: string
  /** Folder of the embedded node's data. */
  readonly nodeDir: string
  /** Of the vault, for another process. */
  readonly vaultUrl: string
  readonly masterKeys: string
  /** A store of another process, with its own cache. */
  readonly otherStore: EventStore
  /** A store of a process of another version, with these events. */
  storeOf(events: Catalogue, url?: string): Promise<EventStore>
  pass(seconds: number): void
  close(): Promise<void>
}

export interface DecisionWorldOptions {
  /** A separate node even if the tests use a real server, because relays and workers process everything in a log. */
  readonly hasOwnNode?: boolean
}

export async function openDecisionWorld({ hasOwnNode = false }: DecisionWorldOptions = {}): Promise<DecisionWorld> {
  const [node, database] = await Promise.all([hasOwnNode ? hostedEventStore() : freshEventStore(), freshVault()])
  const masterKeys = `test:${randomBytes(32).toString('base64')}`
  let passedMs = 0
  // Postgres gives keys their age, so the vault counts from the real time.
  const vault = await openVault({
    url: database.url,
    masterKeys: parseMasterKeys(masterKeys),
    now: () => new Date(Date.now() + passedMs),
  })
  const stores: EventStore[] = []
  const storeOf = async (events: Catalogue, url = node.url): Promise<EventStore> => {
    const opened = await openEventStore({ url, catalogue: events, vault })
    stores.push(opened)
    return opened
  }
  const store = await storeOf(catalogue)
  const otherStore = await storeOf(catalogue)
  const begin = Date.parse('2026-03-01T10:00:00.000Z')
  return {
    store,
    otherStore,
    storeOf,
    url: node.url,
    nodeDir: node.dataDir,
    vaultUrl: database.url,
    masterKeys,
    vault,
    configuration: loadConfiguration({}),
    orgId: tenantOfFact(randomUUID()),
    now: () => new Date(begin + passedMs),
    pass: (seconds) => {
      passedMs += Math.round(seconds * 1000)
    },
    close: async () => {
      await Promise.all(stores.map((opened) => opened.close()))
      await vault.close()
      await Promise.all([node.stop(), database.drop()])
    },
  }
}

/** The context of a new request. */
export function contextOf({ orgId }: Pick<DecisionWorld, 'orgId'>): CommandContext {
  return { commandId: randomUUID(), correlationId: randomUUID(), clientId: 'test', orgId }
}

/** The stream that a call of the store's `append`, `load` or `loadCached` names. */
export function streamOfCall([target]: readonly unknown[]): string {
  return typeof target === 'object' && target !== null && 'stream' in target ? String(target.stream) : ''
}

/** The object, with a hook before each call of a method. */
export function observed<Given extends object>(
  given: Given,
  before: (method: string, parameters: readonly unknown[]) => void,
): Given {
  return new Proxy(given, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...parameters: readonly unknown[]): unknown => {
        before(String(name), parameters)
        return Reflect.apply(member, target, parameters)
      }
    },
  })
}

/** The store, and the streams whose states it is asked for. */
export function withReads(store: EventStore): { readonly counting: EventStore; readonly reads: string[] } {
  const reads: string[] = []
  const counting = observed(store, (method, parameters) => {
    if (method === 'load' || method === 'loadCached') reads.push(streamOfCall(parameters))
  })
  return { counting, reads }
}

/** The store, with a hook before each append. */
export function watched(store: EventStore, beforeAppend: (stream: string) => Promise<void> | void): EventStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      // Only an append waits. A read returns an iterable, not a promise.
      if (name !== 'append')
        return (...parameters: readonly unknown[]): unknown => Reflect.apply(member, target, parameters)
      return async (...parameters: readonly unknown[]): Promise<unknown> => {
        await beforeAppend(streamOfCall(parameters))
        return Reflect.apply(member, target, parameters)
      }
    },
  })
}

/** The store, with a hook before the first append to a stream of one category. */
export function interrupted(store: EventStore, category: string, happens: () => Promise<void>): EventStore {
  let hasHappened = false
  return watched(store, async (stream) => {
    if (hasHappened || !stream.startsWith(`${category}-`)) return
    hasHappened = true
    await happens()
  })
}

/** The problem code of a rejected promise, or `null`. */
export async function problemOf(work: Promise<unknown>): Promise<ProblemCode | null> {
  try {
    await work
    return null
  } catch (error) {
    if (error instanceof Problem) return error.code
    throw error
  }
}
