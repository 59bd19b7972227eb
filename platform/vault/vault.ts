import { createHmac, createPrivateKey, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import type { JWK } from 'jose'
import { LRUCache } from 'lru-cache'
import { v7 } from 'uuid'
import { atMost } from '../kit/at-most.ts'
import { noOrganisation } from '../kit/tenants.ts'
import { areEqualSecrets } from '../kit/sealed-bytes.ts'
import {
  firstEventKey,
  lastingPurposes,
  MissingKeyError,
  type EventKey,
  type EventKeyEnd,
  type KeyVault,
  type SigningPurpose,
  type SubjectKey,
  type TurningKind,
} from '../kit/key-vault.ts'
import { createPool, type Pool } from '../database/database.ts'
import { bytesOfEnds, endsIn } from './event-key-ends.ts'
import { cacheMs, eventKeyKind, inventoryOf, recordKind, sealKind, type VaultInventory } from './inventory.ts'
import type { MasterKeyRing } from './master-keys.ts'
import {
  newSigningSecret,
  publishedKeysAt,
  signingKeyAt,
  signingKind,
  signingKeyOf,
  type KeptSigningKey,
  type SigningKey,
} from './signing-keys.ts'
import { SubjectKeyReader } from './subject-key-reader.ts'
import { VaultRows, type SignedErasure, type StoredRecord, type StoredSecret } from './vault-rows.ts'

export interface VaultOptions {
  /** Connection string of the vault's own Postgres database. */
  readonly url: string
  readonly masterKeys: MasterKeyRing
  /** Used instead of an own pool. `close` does not end it. */
  readonly pool?: Pool
  readonly now?: () => Date
}

/** Creates a secret of each kind. Webhooks need one of 24 bytes, or a key pair (PKCS#8 DER, Ed25519). */
const newSecrets = {
  webhook: () => randomBytes(24),
  'webhook-signing': newSigningSecret,
  cursor: () => randomBytes(32),
  unsubscribe: () => randomBytes(32),
  'review-share': () => randomBytes(32),
  pepper: () => randomBytes(32),
  'console-sign-in': () => randomBytes(32),
} as const satisfies Record<string, () => Uint8Array>

export type SecretKind = keyof typeof newSecrets

/** Records that nobody may alter or set back unseen. They are wrapped like keys. */
export type RecordName = 'sealed-log' | 'event-keys'

export interface SealKey {
  /** Number of the log. */
  readonly generation: number
  readonly number: number
  readonly privateKey: KeyObject
}

/** A subject key whose data is of one period, such as a month. */
export interface PeriodKey {
  readonly orgId: string
  readonly subjectId: string
  readonly period: string
}

const cachedSubjects = 10_000
const erasuresAtOnce = 1_000
const theOne = 'current'
/** Least milliseconds between two reads for a secret that may be new. */
const turningReadMs = 5_000

/** Begins the names of connections. The newest master key of the process ends them, so that `rewrap` sees it. */
const connectionName = 'vault '
/** Postgres cuts longer names. */
const longestName = 63 - connectionName.length
/** Secrets that one statement wraps anew. */
const rewrappedAtOnce = 500

/** Each statement finds its rows by an index. A plan that was made for a small table must do so too. */
const settings = { enable_seqscan: 'off' }

/**
 * Opens the vault and creates its table if missing. Rejects if the database is away.
 * @throws MasterKeyError that names a master key which is missing or wrong. Nothing is changed then
 */
export async function openVault({ url, masterKeys, pool, now = () => new Date() }: VaultOptions): Promise<Vault> {
  const name = `${connectionName}${masterKeys.wrapWith.id}`
  // One connection stays, so that its name shows this process.
  const own = pool ?? createPool({ url, min: 1, max: 4, name, settings })
  try {
    const rows = new VaultRows(own, masterKeys)
    await rows.migrate()
    await rows.requireMasterKeys()
    const pepper = await rows.getOrCreate('pepper', theOne, () => randomBytes(32))
    if (pepper === 'destroyed') throw new MissingKeyError('pepper', theOne)
    const end = pool === undefined ? () => own.end() : async () => undefined
    return new Vault(rows, createSecretKey(pepper), { masterKeys, end, now })
  } catch (error) {
    if (pool === undefined) await own.end()
    throw error
  }
}

/**
 * All secrets that streams must not contain. The master key ring wraps each one, and each is durable before its first
 * use.
 */
export class Vault implements KeyVault {
  readonly #rows: VaultRows
  readonly #subjectKeys: SubjectKeyReader
  readonly #pepper: KeyObject
  readonly #end: () => Promise<void>
  readonly #now: () => Date
  readonly #masterKeys: MasterKeyRing
  /** Signing keys that must not be used any more, whatever the database still says. */
  readonly #ended = new Set<string>()
  /** One entry for each erasure, about 150 bytes. */
  readonly #closed = new Set<string>()
  readonly #closedAnywhere = new Set<string>()
  readonly #subjects = new LRUCache<string, SubjectKey>({ ...atMost(cachedSubjects), ttl: cacheMs })
  // Secrets that another process destroyed are not used again, so only the autopurge removes them.
  readonly #secrets = new LRUCache<string, Uint8Array>({ ...atMost(cachedSubjects), ttl: cacheMs, ttlAutopurge: true })
  readonly #turning = new LRUCache<TurningKind, { readonly secrets: readonly Uint8Array[]; readonly readMs: number }>({
    max: 10,
    ttl: cacheMs,
  })
  readonly #signing = new LRUCache<SigningPurpose, readonly KeptSigningKey[]>({ max: 10, ttl: cacheMs })

  constructor(
    rows: VaultRows,
    pepper: KeyObject,
    {
      masterKeys,
      end,
      now,
    }: { readonly masterKeys: MasterKeyRing; readonly end: () => Promise<void>; readonly now: () => Date },
  ) {
    this.#masterKeys = masterKeys
    this.#rows = rows
    this.#subjectKeys = new SubjectKeyReader(rows)
    this.#pepper = pepper
    this.#end = end
    this.#now = now
  }

  async subjectKeyForWriting(orgId: string, subjectId: string): Promise<SubjectKey> {
    const id = subjectOf(orgId, subjectId)
    if (this.#closed.has(id)) return 'destroyed'
    const cached = this.#subjects.get(id)
    if (cached !== undefined) return cached
    return this.#keep(id, await this.#rows.getOrCreate('subject', id, () => randomBytes(32)))
  }

  async subjectKeyForReading(orgId: string, subjectId: string): Promise<SubjectKey> {
    const id = subjectOf(orgId, subjectId)
    const cached = this.#subjects.get(id)
    if (cached !== undefined) return cached
    const stored = await this.#subjectKeys.read(id)
    if (stored === undefined) throw new MissingKeyError('subject', id)
    return this.#keep(id, stored)
  }

  cachedSubjectKey(orgId: string, subjectId: string): SubjectKey | undefined {
    return this.#subjects.get(subjectOf(orgId, subjectId))
  }

  /**
   * Erases the subject. Its encrypted data reads as null from now on: here at once, elsewhere after `forgetSubject` or
   * within 30 s.
   */
  async destroySubject(orgId: string, subjectId: string): Promise<void> {
    const id = subjectOf(orgId, subjectId)
    await this.#rows.destroy('subject', id)
    this.#subjects.set(id, 'destroyed')
  }

  /** Another process erases the subject: here its key counts as destroyed before the next read of the database. */
  forgetSubject(orgId: string, subjectId: string): void {
    this.#subjects.set(subjectOf(orgId, subjectId), 'destroyed')
  }

  /**
   * The erasure of a subject has begun: here nothing is encrypted with its key any more. What it encrypted is still
   * read.
   */
  closeSubject(orgId: string, subjectId: string): void {
    this.#closed.add(subjectOf(orgId, subjectId))
    this.#closedAnywhere.add(subjectId)
  }

  /** Whether the erasure of the subject has begun, as far as this process knows. Without an organisation: in any. */
  isClosed(orgId: string, subjectId: string): boolean {
    return orgId === noOrganisation
      ? this.#closedAnywhere.has(subjectId)
      : this.#closed.has(subjectOf(orgId, subjectId))
  }

  /** The subjects of an organisation whose erasure has begun. */
  closedOf(orgId: string): readonly string[] {
    const prefix = subjectOf(orgId, '')
    return [...this.#closed].filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length))
  }

  /** Destroys the key of a subject and enters the erasure into the ledger. A repeat returns the first entry. */
  async eraseSubject(orgId: string, subjectId: string): Promise<SignedErasure> {
    const erasure = { orgId, subjectId, erasedAt: this.#now().toISOString() }
    const entered = await this.#rows.destroyAndEnter({ ...erasure, signature: this.#signatureOf(erasure) })
    this.forgetSubject(orgId, subjectId)
    return entered
  }

  /** Enters an erasure from outside, and destroys the key. The entry must be signed. */
  async enter(erasure: SignedErasure): Promise<void> {
    if (!this.isSigned(erasure)) throw new Error('an erasure that the vault did not sign')
    await this.#rows.destroyAndEnter(erasure)
    this.forgetSubject(erasure.orgId, erasure.subjectId)
  }

  /** The ledger: every erasure, in the order of ids. */
  async *erasures(): AsyncGenerator<SignedErasure, void, undefined> {
    let last: Pick<SignedErasure, 'orgId' | 'subjectId'> = { orgId: '', subjectId: '' }
    for (;;) {
      const found = await this.#rows.erasuresAfter(last.orgId, last.subjectId, erasuresAtOnce)
      yield* found
      const end = found.at(-1)
      if (end === undefined) return
      last = end
    }
  }

  /** Whether the vault signed the entry. */
  isSigned({ signature, ...erasure }: SignedErasure): boolean {
    return areEqualSecrets(signature, this.#signatureOf(erasure))
  }

  /**
   * Destroys the keys that exist although an entry says that they were destroyed: an older copy of the vault has them.
   * @returns how many
   */
  async reapply(erasures: readonly SignedErasure[]): Promise<number> {
    const signed = new Map(
      erasures.filter((one) => this.isSigned(one)).map((one) => [subjectOf(one.orgId, one.subjectId), one]),
    )
    const living = await this.#rows.livingOf([...signed.keys()])
    for (const id of living) {
      const one = signed.get(id)
      if (one === undefined) continue
      await this.#rows.destroyAndEnter(one)
      this.forgetSubject(one.orgId, one.subjectId)
    }
    return living.length
  }

  /** Those of the subjects, `<organisation>/<subject>`, whose key exists or whose erasure this process does not know. */
  async unappliedOf(ids: readonly string[]): Promise<readonly string[]> {
    const living = new Set(await this.#rows.livingOf(ids))
    return ids.filter((id) => living.has(id) || !this.#closed.has(id))
  }

  /** Those of the subjects, `<organisation>/<subject>`, of which the vault has neither a key nor its destruction. */
  async absentSubjects(ids: readonly string[]): Promise<readonly string[]> {
    const present = new Set(await this.#rows.presentOf(ids))
    return ids.filter((id) => !present.has(id))
  }

  /** Whether the files were written anew since the erasure, and how long ago that was, in milliseconds. */
  async lastRewrite(
    orgId: string,
    subjectId: string,
  ): Promise<{ readonly isAfterErasure: boolean; readonly ageMs: number }> {
    return this.#rows.lastRewrite(subjectOf(orgId, subjectId))
  }

  /**
   * Removes destroyed keys from the files of the database: the table is written anew and the write-ahead log switched.
   * @returns false if the role of the vault may not switch the log: then its files end by themselves, later
   */
  async rewriteFiles(): Promise<boolean> {
    const begunAt = await this.#rows.rewriteFile()
    const isSwitched = await this.#rows.switchLog()
    // Not before: after a crash the next try would leave the log as it is.
    await this.#rows.enterRewrite(begunAt)
    return isSwitched
  }

  #signatureOf({ orgId, subjectId, erasedAt }: Omit<SignedErasure, 'signature'>): string {
    return this.fingerprint(`erasure\0${orgId}\0${subjectId}\0${erasedAt}`)
  }

  /**
   * Keys of subjects that are named `<name>@<period>`, of periods before the given one and not destroyed yet. The oldest
   * periods come first.
   */
  async periodKeysBefore(name: string, period: string, limit: number): Promise<readonly PeriodKey[]> {
    const ids = await this.#rows.periodKeysBefore(name, period, limit)
    return ids.map((id) => {
      const slash = id.indexOf('/')
      return { orgId: id.slice(0, slash), subjectId: id.slice(slash + 1), period: id.slice(id.indexOf('@') + 1) }
    })
  }

  async eventKeys(): Promise<readonly EventKey[]> {
    await this.#rows.getOrCreate(eventKeyKind, firstEventKey, newEventKey)
    // First the ends: then no key has one whose successor is not read.
    const ends = await this.#eventKeyEnds()
    const stored = await this.#rows.readAll(eventKeyKind)
    return stored.map(({ id, secret }) => ({ id, key: createSecretKey(secret), end: ends.get(id) }))
  }

  /**
   * Adds a key that signs events, from now on where this is known. While the rotation before is not complete, that key
   * is returned.
   */
  async rotateEventKey(): Promise<string> {
    const [newest, former] = await this.eventKeys()
    if (newest !== undefined && former !== undefined && former.end === undefined) return newest.id
    const id = randomBytes(6).toString('base64url')
    await this.#rows.addNewest(eventKeyKind, id, newEventKey())
    return id
  }

  /** What older keys than the newest one signed behind this place does not count, but for a minute. */
  async endOlderEventKeys(end: EventKeyEnd): Promise<void> {
    for (;;) {
      const before = await this.record('event-keys')
      const ends = endsIn(before)
      const [, ...older] = await this.eventKeys()
      for (const { id } of older) if (!ends.has(id)) ends.set(id, end)
      if ((await this.replaceRecord('event-keys', before, bytesOfEnds(ends))) !== undefined) return
    }
  }

  async #eventKeyEnds(): Promise<ReadonlyMap<string, EventKeyEnd>> {
    return endsIn(await this.record('event-keys'))
  }

  /** The secret of that name, created if missing. */
  async secret(kind: SecretKind, id: string): Promise<Uint8Array> {
    const name = `${kind}/${id}`
    const cached = this.#secrets.get(name)
    if (cached !== undefined) return cached
    const stored = await this.#rows.getOrCreate(kind, id, newSecrets[kind])
    if (stored === 'destroyed') throw new MissingKeyError(kind, id)
    this.#secrets.set(name, stored)
    return stored
  }

  /**
   * The secrets of a kind, newest first; the first one is created if missing. The newest one writes.
   * @param isMissing what another process wrote does not open with any of them: it may have a newer one. Reads at most
   * every five seconds, whatever strangers send
   */
  async secretsOf(kind: TurningKind, isMissing = false): Promise<readonly Uint8Array[]> {
    const known = this.#turning.get(kind)
    if (known !== undefined && !(isMissing && performance.now() - known.readMs >= turningReadMs)) return known.secrets
    await this.#rows.getOrCreate(kind, theOne, newSecrets[kind])
    const secrets = (await this.#rows.readAll(kind)).map(({ secret }) => secret)
    this.#turning.set(kind, { secrets, readMs: performance.now() })
    return secrets
  }

  /** Adds a secret, which writes from now on: here at once, in other processes within 30 s. Returns its id. */
  async rotateSecret(kind: TurningKind): Promise<string> {
    // The first one must be the older one.
    await this.secretsOf(kind)
    const id = v7()
    await this.#rows.addNewest(kind, id, newSecrets[kind]())
    this.#turning.delete(kind)
    return id
  }

  /** The secret of that name, never a new one: a secret in an event must exist. Rejects with `MissingKeyError`. */
  async storedSecret(kind: SecretKind, id: string): Promise<Uint8Array> {
    const name = `${kind}/${id}`
    const cached = this.#secrets.get(name)
    if (cached !== undefined) return cached
    const stored = await this.#rows.read(kind, id)
    if (stored === undefined || stored === 'destroyed') throw new MissingKeyError(kind, id)
    this.#secrets.set(name, stored)
    return stored
  }

  /** Destroys a secret for ever, here at once, elsewhere within 30 s. Later reads report it as missing. */
  async destroySecret(kind: SecretKind, id: string): Promise<void> {
    await this.#rows.destroy(kind, id)
    this.#secrets.delete(`${kind}/${id}`)
  }

  /** Stores or replaces a secret from outside. */
  async putSecret(kind: SecretKind, id: string, secret: Uint8Array): Promise<void> {
    if ((await this.#rows.put(kind, id, secret)) === 'destroyed') throw new MissingKeyError(kind, id)
    this.#secrets.set(`${kind}/${id}`, secret)
  }

  /** The key pair that signs now, created if missing: the newest that was published long enough. */
  async signingKey(purpose: SigningPurpose): Promise<SigningKey> {
    const key = signingKeyAt(await this.#signingKeys(purpose), this.#now())
    if (key === undefined) throw new MissingKeyError('signing', purpose)
    return key
  }

  /**
   * Public halves of the key pairs of a purpose, newest first, for verification and for a JWKS. An old key disappears
   * after its last token ended. Keys of lasting purposes stay for good.
   */
  async publicKeys(purpose: SigningPurpose): Promise<readonly JWK[]> {
    const keys = await this.#signingKeys(purpose)
    const published = lastingPurposes.includes(purpose) ? keys : publishedKeysAt(keys, this.#now())
    return published.map((key) => key.publicJwk)
  }

  /** Adds a key pair. It is published at once, and signs when every process and verifier knows it. */
  async rotateSigningKey(purpose: SigningPurpose): Promise<SigningKey> {
    // The first pair must be the older one.
    await this.#signingKeys(purpose)
    const secret = newSigningSecret()
    const key = await signingKeyOf(secret)
    await this.#rows.addNewest(signingKind(purpose), key.kid, secret)
    this.#signing.delete(purpose)
    return key
  }

  /**
   * A signing key has ended: it neither signs nor verifies in this process from now on. Another key signs at once, also
   * one that was published a moment ago.
   */
  endSigningKey(purpose: SigningPurpose, kid: string): void {
    this.#ended.add(kid)
    this.#signing.delete(purpose)
  }

  /** Destroys an ended signing key for ever. False if the vault has no such key (any more). */
  async destroySigningKey(purpose: SigningPurpose, kid: string): Promise<boolean> {
    const kind = signingKind(purpose)
    for (const { id, secret } of await this.#rows.readAll(kind)) {
      if ((await signingKeyOf(secret)).kid !== kid) continue
      await this.#rows.destroy(kind, id)
      this.endSigningKey(purpose, kid)
      return true
    }
    return false
  }

  /** Everything that the vault has, without the secrets. Reads every row. */
  async inventory(): Promise<VaultInventory> {
    return inventoryOf(this.#rows, this.#masterKeys, this.#now())
  }

  /** Newest master keys of other processes, if they are not that of this one. */
  async otherMasterKeys(): Promise<readonly string[]> {
    const ours = this.#masterKeys.wrapWith.id.slice(0, longestName)
    return (await this.#rows.wrappingElsewhere(connectionName)).filter((id) => id !== ours)
  }

  /**
   * Wraps everything with the newest master key, and then writes the file of the table anew. May be stopped and repeated
   * at any time. Memory does not depend on the number of secrets.
   * @param onProgress how many secrets are wrapped anew, of how many
   * @throws MasterKeyError if a secret does not open
   */
  async rewrap(onProgress: (done: number, total: number) => void): Promise<number> {
    const total = await this.#rows.countOfOlder()
    let done = 0
    onProgress(done, total)
    for (let count = await this.#rows.rewrapSome(rewrappedAtOnce); count > 0;) {
      done += count
      onProgress(done, Math.max(done, total))
      count = await this.#rows.rewrapSome(rewrappedAtOnce)
    }
    await this.#rows.rewriteFile()
    return done
  }

  /**
   * An Ed25519 key that signs the checkpoints of a log, created if missing. Each log has keys of its own, which are
   * counted from 1.
   */
  async sealKey(generation: number, number = 1): Promise<KeyObject> {
    const id = number === 1 ? String(generation) : `${generation}/${number}`
    const stored = await this.#rows.getOrCreate(sealKind, id, newSigningSecret)
    if (stored === 'destroyed') throw new MissingKeyError(sealKind, id)
    return privateKeyOf(stored)
  }

  /** The keys of all logs so far, newest first. Creates none. */
  async sealKeys(): Promise<readonly SealKey[]> {
    const stored = await this.#rows.readAll(sealKind)
    const keys = stored.map(({ id, secret }) => {
      const [generation = 0, number = 1] = id.split('/').map(Number)
      return { generation, number, privateKey: privateKeyOf(secret) }
    })
    return keys.toSorted((one, other) => other.generation - one.generation || other.number - one.number)
  }

  /** Undefined if nobody stored it yet. */
  async record(name: RecordName): Promise<StoredRecord | undefined> {
    return this.#rows.readRecord(recordKind, name)
  }

  /** Replaces exactly the version that was read. Undefined if another process replaced it before. */
  async replaceRecord(
    name: RecordName,
    before: StoredRecord | undefined,
    bytes: Uint8Array,
  ): Promise<StoredRecord | undefined> {
    return this.#rows.replaceRecord(recordKind, name, before, bytes)
  }

  /** True for the first use of an id, whichever process asks. The use is remembered until `until`. */
  async useOnce(id: string, { until, now }: { readonly until: Date; readonly now: Date }): Promise<boolean> {
    return this.#rows.useOnce(this.fingerprint(`once\0${id}`), until, now)
  }

  /** Hex HMAC-SHA-256 with the pepper, to compare values that must not be stored unencrypted. */
  fingerprint(bytes: Uint8Array | string): string {
    return createHmac('sha256', this.#pepper).update(bytes).digest('hex')
  }

  async close(): Promise<void> {
    await this.#end()
  }

  async #signingKeys(purpose: SigningPurpose): Promise<readonly KeptSigningKey[]> {
    const cached = this.#signing.get(purpose)
    if (cached !== undefined) return cached
    const kind = signingKind(purpose)
    // The first pair has a fixed name, so processes that start at once get the same pair.
    await this.#rows.getOrCreate(kind, 'first', newSigningSecret)
    const stored = await this.#rows.readAll(kind)
    const found = await Promise.all(
      stored.map(async ({ secret, createdAt }) => ({ ...(await signingKeyOf(secret)), createdAt })),
    )
    const keys = found.filter(({ kid }) => !this.#ended.has(kid))
    // None: somebody is making another one.
    if (keys.length > 0) this.#signing.set(purpose, keys)
    return keys
  }

  /** A key that was read before its erasure must not return after it. */
  #keep(id: string, stored: StoredSecret): SubjectKey {
    if (this.#subjects.get(id) === 'destroyed') return 'destroyed'
    const key = stored === 'destroyed' ? stored : createSecretKey(stored)
    this.#subjects.set(id, key)
    return key
  }
}

function newEventKey(): Uint8Array {
  return randomBytes(32)
}

function privateKeyOf(secret: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.from(secret), type: 'pkcs8', format: 'der' })
}

function subjectOf(orgId: string, subjectId: string): string {
  return `${orgId}/${subjectId}`
}
