import { LRUCache } from 'lru-cache'
import { atMost } from '../../platform/kit/at-most.ts'
import { firstEventKey, type EventKeyEnd, type KeyVault } from '../../platform/kit/key-vault.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import { createSigner, namedKey, type SignedPlace, type Signer } from './signature.ts'

/** A stored event with its place in the log and the time of its storage. */
export interface SignedEvent extends SignedPlace {
  readonly position: Position
  readonly created: Date
  readonly dataBytes: Uint8Array
  readonly metadataBytes: Uint8Array
}

interface KnownKey {
  readonly signer: Signer
  readonly end: EventKeyEnd | undefined
}

/**
 * How long an older key counts behind its end, in milliseconds. A process that does not know the newer key yet
 * reads it within `signsUnreadMs`, and sends an append again for 40 seconds at most.
 */
const afterEndMs = 60_000
/** Nothing is signed with keys that were read longer ago, in milliseconds. */
const signsUnreadMs = 20_000
/** How long an append waits for a vault that is away, in milliseconds. Then it is signed with the key that is known. */
const mostWaitMs = 2_000
/** Least time between two reads while a rotation is not complete, in milliseconds. */
const incompleteMs = 1_000
/** Ids that the vault did not have, such as those of another installation. A key is stored before it signs. */
const mostStrangers = 1_000

/**
 * The keys that sign events, as this process knows them. It reads the vault when an event names a key that it does not
 * know, when a rotation is reported, and before it signs after a pause.
 */
export class EventKeys {
  readonly #vault: Pick<KeyVault, 'eventKeys'>
  #known: ReadonlyMap<string, KnownKey> = new Map()
  #newest: Signer
  #newestId = firstEventKey
  #readMs = -Infinity
  /** The same by the clock of the machine. */
  #readAtMs = -Infinity
  #reading: Promise<void> | undefined
  readonly #strangers = new LRUCache<string, true>(atMost(mostStrangers))

  private constructor(vault: Pick<KeyVault, 'eventKeys'>, keys: Awaited<ReturnType<KeyVault['eventKeys']>>) {
    this.#vault = vault
    this.#newest = this.#keep(keys)
  }

  static async open(vault: Pick<KeyVault, 'eventKeys'>): Promise<EventKeys> {
    return new EventKeys(vault, await vault.eventKeys())
  }

  /** The key that signs. Reads it again after a pause. */
  signer(): Signer | Promise<Signer> {
    // While a machine sleeps, one of its clocks stands still.
    const ageMs = Math.max(performance.now() - this.#readMs, Math.abs(Date.now() - this.#readAtMs))
    if (ageMs < signsUnreadMs) return this.#newest
    return this.#afterRead()
  }

  /** The key that signs, as this process knows it. */
  get newest(): Signer {
    return this.#newest
  }

  /** Whether one of the keys signed the event where that key counts. A promise only if the vault must be read. */
  isSigned(event: SignedEvent): boolean | Promise<boolean> {
    const id = namedKey(event.metadataBytes)
    const key = this.#known.get(id)
    if (key === undefined)
      return this.#strangers.has(id) ? false : this.#keyNamed(id).then((read) => isSignedWith(read, event))
    const isIncomplete = key.end === undefined && id !== this.#newestId
    if (isIncomplete && performance.now() - this.#readMs >= incompleteMs)
      return this.refresh().then(() => isSignedWith(this.#known.get(id), event))
    return isSignedWith(key, event)
  }

  /** Whether any of the keys signed a text that has no place in the log. @throws Error if the vault is away */
  async isSignedText(place: SignedPlace, data: Uint8Array, signed: Uint8Array): Promise<boolean> {
    return (await this.#keyNamed(namedKey(signed)))?.signer.isSigned(place, data, signed) ?? false
  }

  /** Reads the keys anew. Calls at the same time share a read. @throws Error if the vault is away */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Reads the vault for a key that this process does not know. */
  async #keyNamed(id: string): Promise<KnownKey | undefined> {
    if (this.#known.has(id) || this.#strangers.has(id)) return this.#known.get(id)
    // A read that runs may have begun before the key was stored.
    await this.#reading
    if (!this.#known.has(id)) await this.refresh()
    const key = this.#known.get(id)
    if (key === undefined) this.#strangers.set(id, true)
    return key
  }

  async #afterRead(): Promise<Signer> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, mostWaitMs)
    // The report of a rotation in the log reaches a process without the vault.
    this.refresh().then(resolve, resolve)
    await promise
    clearTimeout(timer)
    return this.#newest
  }

  async #read(): Promise<void> {
    this.#newest = this.#keep(await this.#vault.eventKeys())
  }

  #keep(keys: Awaited<ReturnType<KeyVault['eventKeys']>>): Signer {
    const known = new Map(keys.map(({ id, key, end }) => [id, { signer: createSigner(key, id), end }]))
    const [newest] = keys
    const signer = newest === undefined ? undefined : known.get(newest.id)?.signer
    if (newest === undefined || signer === undefined) throw new Error('the vault has no key that signs events')
    this.#known = known
    this.#newestId = newest.id
    this.#readMs = performance.now()
    this.#readAtMs = Date.now()
    return signer
  }
}

function isSignedWith(key: KnownKey | undefined, event: SignedEvent): boolean {
  if (key === undefined || !key.signer.isSigned(event, event.dataBytes, event.metadataBytes)) return false
  const { end } = key
  return (
    end === undefined ||
    comparePositions(event.position, end.position) < 0 ||
    event.created.getTime() <= end.at.getTime() + afterEndMs
  )
}
