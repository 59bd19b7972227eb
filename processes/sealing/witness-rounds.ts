import { tileReader } from '../../contracts/audit/log-objects.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { withCosignatures } from '../../platform/transparency-log/cosignature.ts'
import { TileTree } from '../../platform/transparency-log/tiles.ts'
import type { Witness } from '../adapters/witness.ts'
import type { LogWriter } from './log-writer.ts'

export interface WitnessStatus {
  /** Since when seals lack the signatures of enough witnesses. */
  readonly quorumMissingSince: Date | undefined
  /** Names of witnesses that signed a larger tree than the log has. */
  readonly ahead: readonly string[]
}

interface RoundsOptions {
  readonly witnesses: readonly Witness[]
  readonly quorum: number
  readonly objects: ObjectStore
  readonly logger: Logger
  readonly now: () => Date
}

/** Before a checkpoint that too few witnesses signed is brought to them again, in milliseconds. */
const retryMs = 60_000

/** Brings the newest seal to the witnesses, in one round at a time. Sealing does not wait for it. */
export class WitnessRounds {
  readonly #options: RoundsOptions
  #running: Promise<void> | undefined
  #quorumMissingSince: Date | undefined
  #ahead: readonly string[] = []
  /** The last round: the size of its checkpoint, its time, and how many signatures of it are recorded. */
  #last = { size: 0, atMs: -Infinity, signatures: 0 }

  constructor(options: RoundsOptions) {
    this.#options = options
  }

  status(): WitnessStatus {
    return { quorumMissingSince: this.#quorumMissingSince, ahead: this.#ahead }
  }

  /** Begins a round for the newest seal, unless one runs or enough witnesses have signed it. */
  begin(writer: LogWriter, signal: AbortSignal): void {
    const { checkpoint } = writer
    const { witnesses, logger, now } = this.#options
    if (witnesses.length === 0 || checkpoint === undefined || checkpoint.size === writer.cosignedSize) return
    this.#quorumMissingSince ??= now()
    const { size, atMs } = this.#last
    if (this.#running !== undefined || (size === checkpoint.size && performance.now() - atMs < retryMs)) return
    this.#last = {
      size: checkpoint.size,
      atMs: performance.now(),
      signatures: size === checkpoint.size ? this.#last.signatures : 0,
    }
    this.#running = this.#round(writer, checkpoint, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ component: 'sealing', err: error }, 'a round of the witnesses failed')
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when no round runs. */
  async settled(): Promise<void> {
    await this.#running
  }

  async #round(writer: LogWriter, checkpoint: SignedCheckpoint, signal: AbortSignal): Promise<void> {
    const { witnesses, quorum, objects, logger } = this.#options
    const tree = new TileTree(checkpoint.size, tileReader(objects, writer.record.generation))
    const answers = await Promise.all(
      witnesses.map(async (witness) => ({
        name: witness.key.name,
        answer: await witness.sign(checkpoint, (size) => tree.consistencyProof(size), signal),
      })),
    )
    signal.throwIfAborted()
    for (const { name, answer } of answers)
      if (answer.kind === 'unusable')
        logger.warn({ component: 'sealing', host: name, reason: answer.reason }, 'a witness did not sign')
    this.#ahead = answers.filter(({ answer }) => answer.kind === 'ahead').map(({ name }) => name)
    const signatures = answers.flatMap(({ answer }) => (answer.kind === 'signed' ? [answer.signature] : []))
    // A repeat that gets no further signature records nothing.
    if (signatures.length <= this.#last.signatures) return
    const isEnough = signatures.length >= quorum
    await writer.cosigned(withCosignatures(checkpoint, signatures), isEnough)
    this.#last = { ...this.#last, signatures: signatures.length }
    if (isEnough) this.#quorumMissingSince = undefined
  }
}
