import type { CategoryDefinition } from '../../engine/store/catalogue.ts'
import type { Fold, Target } from '../../engine/store/events.ts'
import { backupEvents, type BackupEvent } from './events.ts'

export interface BackupState {
  /** When the newest verified backup was made. Null without one. */
  readonly newestAt: string | null
  /** The restore since which calls to systems outside are held. */
  readonly held: { readonly backupId: string; readonly since: string } | null
}

/** One installation has one stream. */
export const backups = {
  category: 'backups',
  events: backupEvents,
  initialState: { newestAt: null, held: null },
  evolve(state, event) {
    switch (event.type) {
      case 'BackupVerified':
        return { ...state, newestAt: event.data.createdAt }
      case 'BackupRestored':
        return { ...state, held: { backupId: event.data.backupId, since: event.data.restoredAt } }
      case 'OutsideCallsReleased':
        return { ...state, held: null }
    }
  },
} satisfies CategoryDefinition & Fold<BackupState, BackupEvent>

export const backupStream: Target<BackupState, BackupEvent> = { fold: backups, stream: backups.category }
