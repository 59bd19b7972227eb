import { parseArgs } from 'node:util'

export type BackupOrder =
  | { readonly action: 'create'; readonly place: string; readonly isJson: boolean }
  | { readonly action: 'list'; readonly place: string; readonly isJson: boolean }
  | { readonly action: 'verify'; readonly place: string; readonly id: string | undefined; readonly isJson: boolean }
  | ({ readonly action: 'restore' } & RestoreOrder)
  | { readonly action: 'prune'; readonly place: string; readonly keep: number }
  | { readonly action: 'release' }

export interface RestoreOrder {
  readonly place: string
  /** Undefined: the newest backup. */
  readonly id: string | undefined
  /** The data folder of the restored platform. */
  readonly folder: string
  readonly acceptsLostErasures: boolean
  /** A file that `erasures export` wrote. */
  readonly erasures: string | undefined
  readonly isJson: boolean
}

export const backupUsage = `  backup create  --to PLACE  [--json]
          a backup of the running platform in a folder, encrypted with BACKUP_KEYS, and verified. Exit code of all
          backup commands: 0 done, 1 something in the place is damaged, 2 it could not be done
  backup list  --from PLACE  [--json]
  backup verify  --from PLACE  [--backup ID]  [--json]
          reads every byte of all backups, or of one. Names each damaged file
  backup restore  --from PLACE  [--backup ID]  --to DIR  [--erasures FILE|--accept-lost-erasures]
          [--json]
          the newest backup, or the named one, as the data folder DIR of another npm start. DIR is empty or new
  backup prune  --from PLACE  --keep N
          removes all backups but the N newest ones
  backup release
          lets a restored platform call other systems again`

const options = {
  to: { type: 'string' },
  from: { type: 'string' },
  backup: { type: 'string' },
  keep: { type: 'string' },
  'accept-lost-erasures': { type: 'boolean', default: false },
  erasures: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const

type Option = keyof typeof options

/** The options of each action. */
const takes: Readonly<Record<BackupOrder['action'], readonly Option[]>> = {
  create: ['to', 'json'],
  list: ['from', 'json'],
  verify: ['from', 'backup', 'json'],
  restore: ['from', 'backup', 'to', 'accept-lost-erasures', 'erasures', 'json'],
  prune: ['from', 'keep'],
  release: [],
}

function isAction(text: string | undefined): text is BackupOrder['action'] {
  return text !== undefined && Object.hasOwn(takes, text)
}

/** @throws Error with a message for the operator */
export function readBackup([action, ...args]: readonly string[]): BackupOrder {
  if (!isAction(action)) throw new Error(`backup takes ${Object.keys(takes).join(', ')}`)
  const known = Object.fromEntries(takes[action].map((name) => [name, options[name]]))
  // Unknown options of this action are refused; the values are those of all options.
  parseArgs({ args, options: known })
  const { values } = parseArgs({ args, options })
  const isJson = values.json
  const needed = (name: 'to' | 'from', what: string): string => {
    const value = values[name] ?? ''
    if (value === '') throw new Error(`backup ${action} needs --${name} ${what}`)
    return value
  }
  switch (action) {
    case 'create':
      return { action, place: needed('to', 'PLACE'), isJson }
    case 'list':
      return { action, place: needed('from', 'PLACE'), isJson }
    case 'verify':
      return { action, place: needed('from', 'PLACE'), id: readId(values.backup), isJson }
    case 'restore':
      return {
        action,
        place: needed('from', 'PLACE'),
        id: readId(values.backup),
        folder: needed('to', 'DIR'),
        acceptsLostErasures: values['accept-lost-erasures'],
        erasures: values.erasures,
        isJson,
      }
    case 'prune': {
      const keep = values.keep ?? ''
      if (!/^[1-9]\d{0,5}$/.test(keep)) throw new Error('backup prune needs --keep, a number of at least 1')
      return { action, place: needed('from', 'PLACE'), keep: Number(keep) }
    }
    case 'release':
      return { action }
  }
}

function readId(id: string | undefined): string | undefined {
  if (id !== undefined && !/^[0-9a-f-]{36}$/.test(id)) throw new Error('--backup must be an id that backup list shows')
  return id
}
