import type { Configuration } from '../platform/configuration/configuration.ts'
import type { Pool } from '../platform/database/database.ts'
import type { Cursors } from '../platform/http/cursors.ts'
import type { ReceiptKeys } from '../contracts/consent/receipt.ts'
import type { ObjectStore } from '../platform/storage/object-store.ts'

/** What the GET routes are given. They read tables, never streams. */
export interface ReadDependencies {
  readonly pool: Pool
  readonly cursors: Cursors
  readonly objects: ObjectStore
  readonly configuration: Configuration
  readonly now: () => Date
  /** Signs consent receipts. */
  readonly vault: ReceiptKeys
  /** Whether a read model contains everything that was recorded when this is asked; waits some seconds for it (T24). */
  readonly isCurrent: (projector: string) => Promise<boolean>
}
