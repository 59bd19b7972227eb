import { parseArgs } from 'node:util'

export interface ErasuresOrder {
  readonly action: 'export'
}

export const erasuresUsage = `  erasures export
          the ledger of erasures, one signed line of JSON for each person. Keep it apart from the backups: backup restore
          takes it as --erasures FILE`

/** @throws Error with the reason, if there is no such command */
export function readErasures([action, ...rest]: readonly string[]): ErasuresOrder {
  if (action !== 'export') throw new Error('erasures takes export')
  parseArgs({ args: rest, options: {} })
  return { action }
}
