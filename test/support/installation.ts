import { randomBytes } from 'node:crypto'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { openEventStore, type EventStore, type EventStoreOptions } from '../../engine/store/event-store.ts'
import { parseMasterKeys } from '../../platform/vault/master-keys.ts'
import { openVault, type Vault } from '../../platform/vault/vault.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { freshDatabases, type FreshDatabases } from './postgres.ts'

type Guard = NonNullable<EventStoreOptions['guard']>

/** A process of an installation, with connections and caches of its own. */
export interface InstalledProcess {
  readonly vault: Vault
  readonly store: EventStore
}

/** An event store of its own and an empty vault, for the tests of one file. */
export interface Installation {
  readonly node: TestEventStore
  readonly database: FreshDatabases
  /** A value of MASTER_KEYS. */
  readonly masterKeyText: string
  /** Starts a process, which ends with the test. */
  readonly startProcess: (guardOf?: (vault: Vault) => Guard) => Promise<InstalledProcess>
  /** Runs at the end of the test, the last one first. */
  readonly afterTest: (close: () => Promise<void>) => void
}

/** Call it once, at the top of a test file. Node and databases are there when the tests run. */
export function givenInstallation(): Installation {
  const masterKeyText = `test:${randomBytes(32).toString('base64')}`
  const masterKeys = parseMasterKeys(masterKeyText)
  const closing: (() => Promise<void>)[] = []
  let servers: readonly [TestEventStore, FreshDatabases] | undefined

  function started(): readonly [TestEventStore, FreshDatabases] {
    if (servers === undefined) throw new Error('the servers start before the first test, not with the file')
    return servers
  }

  beforeAll(async () => {
    servers = await Promise.all([hostedEventStore(), freshDatabases()])
  })
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })
  afterAll(async () => {
    const [node, database] = started()
    await Promise.all([node.stop(), database.drop()])
  })

  return {
    get node() {
      return started()[0]
    },
    get database() {
      return started()[1]
    },
    masterKeyText,
    async startProcess(guardOf = () => () => undefined) {
      const [node, database] = started()
      const vault = await openVault({ url: database.vaultUrl, masterKeys })
      closing.push(() => vault.close())
      const store = await openEventStore({ url: node.url, catalogue, vault, guard: guardOf(vault) })
      closing.push(() => store.close())
      return { vault, store }
    },
    afterTest: (close) => void closing.push(close),
  }
}
