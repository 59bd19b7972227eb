import { successorIn } from '../../contracts/audit/log-keys.ts'
import type { Position } from '../../platform/kit/positions.ts'
import {
  checkpointRefusal,
  parseCheckpoint,
  type SignedCheckpoint,
} from '../../platform/transparency-log/checkpoint.ts'
import { cosignedAt } from '../../platform/transparency-log/cosignature.ts'
import type { GrowingTree } from '../../platform/transparency-log/growing-tree.ts'
import { formatVkey, NoteError, signatureOf, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'
import type { LogSealEvent } from '../../streams/log-seals/events.ts'
import { eventFault, placeFault, type Fault, type FaultKind } from './fault.ts'

/** An event of the stream of seals as it is stored. `seal` is undefined if its content has no known form. */
export interface StoredSeal {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly position: Position
  readonly isSigned: boolean
  readonly seal: LogSealEvent | undefined
}

/** What a witness signed last, by the seals. */
export interface WitnessedSize {
  readonly size: number
  readonly at: Date
}

interface SealCheckOptions {
  readonly seals: AsyncIterator<StoredSeal>
  readonly generation: number
  /** Of all logs of the installation, or the one that the auditor trusts. */
  readonly keys: readonly VerifierKey[]
  /** The auditor trusts one key, that of the present log. It judges no seal of the logs before an accepted older one. */
  readonly hasOneKey?: boolean
  readonly witnesses: readonly VerifierKey[]
  /** Seals up to this size are not compared with the tree. */
  readonly from: number
}

/** Names of the faults of a checkpoint. */
const kinds = { 'unknown-key': 'unknown_key', 'forged-signature': 'forged_seal' } as const

/** Checks the seals in their order, and compares their roots with the tree while it grows. */
export class SealCheck {
  readonly faults: Fault[] = []
  /** Seals with our signature, whose root is not that of the tree. */
  readonly unequal: { readonly size: number; readonly event: StoredSeal }[] = []
  readonly witnessed = new Map<string, WitnessedSize>()
  readonly #options: SealCheckOptions
  readonly #keys: VerifierKey[]
  /** The newest key of the present log, once there was a rotation. */
  #required: VerifierKey | undefined
  readonly #roots = new Map<number, string>()
  #generation = 1
  #revision = 0n
  #next: { readonly event: StoredSeal; readonly checkpoint: SignedCheckpoint } | undefined
  #hasEnded = false
  #size = 0

  constructor(options: SealCheckOptions) {
    this.#options = options
    this.#keys = [...options.keys]
  }

  /** The given keys, and those that they handed over to. */
  get keys(): readonly VerifierKey[] {
    return this.#keys
  }

  /** The newest seal of this log. */
  newest: SignedCheckpoint | undefined

  /** Compares the seals of this size of the tree. */
  compare(tree: GrowingTree): Promise<void> | void {
    if (this.#hasEnded || (this.#next !== undefined && this.#next.checkpoint.size > tree.size)) return
    return this.#compareNext(tree)
  }

  /** Checks the seals behind the tree. They seal more than the vault knows. */
  async end(): Promise<void> {
    while (await this.#advance()) this.#next = undefined
  }

  async #compareNext(tree: GrowingTree): Promise<void> {
    while (await this.#advance()) {
      if (this.#next === undefined || this.#next.checkpoint.size > tree.size) return
      const { event, checkpoint } = this.#next
      if (checkpoint.size === tree.size && !checkpoint.root.equals(tree.root()))
        this.unequal.push({ size: checkpoint.size, event })
      this.#next = undefined
    }
  }

  /** Finds the next seal of this log that our key signed. False at the end. */
  async #advance(): Promise<boolean> {
    while (this.#next === undefined && !this.#hasEnded) {
      const { done, value } = await this.#options.seals.next()
      this.#hasEnded = done === true
      if (done !== true) this.#read(value)
    }
    return !this.#hasEnded
  }

  #read(event: StoredSeal): void {
    if (event.revision !== this.#revision)
      this.faults.push(placeFault('removed', event.position, 'seals before this one are missing', event.stream))
    this.#revision = event.revision + 1n
    const { seal } = event
    if (!event.isSigned || seal === undefined)
      return this.#fault('forged_seal', event, 'a seal that the platform did not write')
    if (seal.type === 'OlderLogAccepted') {
      this.#generation += 1
      this.#size = 0
      this.#roots.clear()
      this.#required = undefined
      return
    }
    if (this.#options.hasOneKey === true && this.#generation < this.#options.generation) return
    if (seal.type === 'SealKeyRotated') return this.#handOver(event, seal.data)
    // The log itself requires nothing of older keys once there is a newer one.
    if (seal.type === 'SealKeysEnded') return
    const checkpoint = this.#checked(event, seal.data.checkpoint)
    if (checkpoint === undefined) return
    if (checkpoint.size !== seal.data.size) return this.#fault('forged_seal', event, 'a seal of another size')
    if (seal.type === 'LogCosigned') this.#cosigned(event, checkpoint)
    else if (this.#required !== undefined && signatureOf(checkpoint.note, this.#required) === undefined)
      this.#fault('forged_seal', event, 'a seal without the signature of the newest key of the log')
    else if (seal.data.root !== checkpoint.root.toString('base64') || checkpoint.size <= this.#size)
      this.#fault('forged_seal', event, 'a seal that does not continue the one before it')
    else this.#sealed(event, checkpoint)
  }

  /** The key before it signed the next one, so it is as good as that one. From here on it must sign. */
  #handOver(event: StoredSeal, { vkey, note }: { readonly vkey: string; readonly note: string }): void {
    const next = successorIn(note, this.#keys)
    if (next === undefined || formatVkey(next) !== vkey)
      return this.#fault('forged_seal', event, 'a key of the log that the one before it did not sign')
    if (!this.#keys.some((key) => formatVkey(key) === vkey)) this.#keys.push(next)
    this.#required = next
  }

  #sealed(event: StoredSeal, checkpoint: SignedCheckpoint): void {
    this.#size = checkpoint.size
    this.#roots.set(checkpoint.size, checkpoint.root.toString('base64'))
    const [oldest] = this.#roots.keys()
    if (this.#roots.size > mostRoots && oldest !== undefined) this.#roots.delete(oldest)
    if (this.#generation !== this.#options.generation) return
    this.newest = checkpoint
    if (checkpoint.size > this.#options.from) this.#next = { event, checkpoint }
  }

  #cosigned(event: StoredSeal, checkpoint: SignedCheckpoint): void {
    const root = this.#roots.get(checkpoint.size)
    if (root !== undefined && root !== checkpoint.root.toString('base64'))
      return this.#fault('forged_seal', event, 'a witness signed another log than the one that was sealed')
    for (const key of this.#options.witnesses) {
      const at = cosignedAt(checkpoint, key)
      if (at === 'forged') this.#fault('forged_seal', event, `the signature of the witness ${key.name} is wrong`)
      else if (at !== undefined && this.#generation === this.#options.generation)
        this.witnessed.set(key.name, { size: checkpoint.size, at })
    }
  }

  #checked(event: StoredSeal, note: string): SignedCheckpoint | undefined {
    try {
      const checkpoint = parseCheckpoint(note)
      const refusal = checkpointRefusal(checkpoint, this.#keys)
      if (refusal === undefined) return checkpoint
      this.#fault(
        kinds[refusal],
        event,
        `a seal whose signature is ${refusal === 'unknown-key' ? 'of an unknown key' : 'wrong'}`,
      )
    } catch (error) {
      if (!(error instanceof NoteError)) throw error
      this.#fault('forged_seal', event, 'a seal without a checkpoint')
    }
    return undefined
  }

  #fault(kind: FaultKind, event: StoredSeal, detail: string): void {
    this.faults.push(eventFault(kind, event, detail))
  }
}

/** A cosignature comes soon after its seal. */
const mostRoots = 1_000
