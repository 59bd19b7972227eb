import type { RuntimeTables } from '../engine/projections/schema.ts'
import { sessionTables } from './console/sessions.ts'
import { outsideSystemTables } from './operations/outside-systems.ts'
import { projectionOperationTables } from './operations/projection-operations.ts'
import { rateTables } from './operations/rates.ts'
import { retryTables } from './operations/retries.ts'
import { processTables } from './operations/signs-of-life.ts'
import { reportTables } from './provider-reports.ts'

/** The tables of the app in the schema `runtime`. */
export const appTables: readonly RuntimeTables[] = [
  outsideSystemTables,
  processTables,
  projectionOperationTables,
  rateTables,
  reportTables,
  retryTables,
  sessionTables,
]
