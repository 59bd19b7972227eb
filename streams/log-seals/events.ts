import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

const Size = Type.Integer({ minimum: 0 })
/** Base64, as in the checkpoint. */
const Root = Type.String({ pattern: '^[A-Za-z0-9+/]{43}=$' })

export const logSealEvents = {
  /** The log was sealed up to an event. */
  LogSealed: defineEvent(
    'LogSealed',
    Type.Object({
      /** Number of sealed events. */
      size: Size,
      root: Root,
      /** Of the last sealed event, `commit/prepare`. */
      position: Type.String({ pattern: '^\\d{1,20}/\\d{1,20}$' }),
      /** The signed note. */
      checkpoint: Type.String(),
    }),
  ),
  /** Witnesses signed a checkpoint. The note contains their signatures. */
  LogCosigned: defineEvent('LogCosigned', Type.Object({ size: Size, checkpoint: Type.String() })),
  /** An operator accepted an event store that lacks sealed events. From here on the seals are those of a new log. */
  OlderLogAccepted: defineEvent(
    'OlderLogAccepted',
    Type.Object({
      reason: Type.String({ minLength: 1, maxLength: 500 }),
      /** Account of the operating system. */
      by: Type.String(),
      /** Of the last checkpoint of the log that ended. */
      size: Size,
      root: Root,
    }),
  ),
  /** The seals have the signature of another key too. The key before it signed the note, which names the new one. */
  SealKeyRotated: defineEvent(
    'SealKeyRotated',
    Type.Object({ vkey: Type.String(), note: Type.String(), by: Type.String() }),
  ),
  /** From here on seals have the signature of the newest key only. */
  SealKeysEnded: defineEvent('SealKeysEnded', Type.Object({ vkeys: Type.Array(Type.String()), by: Type.String() })),
} as const

export type LogSealEvent = EventOf<typeof logSealEvents>
