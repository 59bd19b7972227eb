import { Option } from '@commander-js/extra-typings'
import { example, filled, must, numberFrom, type Define } from '../command-options.ts'

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

const backupId = must('an id that backup list shows', (id) => (/^[0-9a-f-]{36}$/.test(id) ? id : undefined))

export const defineBackup: Define<BackupOrder> = (backup, choose) => {
  backup.addHelpText('after', '\nExit codes: 0 done, 1 something in the place is damaged, 2 it could not be done.')
  const create = backup
    .command('create')
    .description('A backup of the running platform in a folder or bucket, encrypted with BACKUP_KEYS, and verified.')
    .requiredOption('--to <place>', 'where the backups are', filled)
    .option('--json', 'as JSON')
    .action(({ to: place, json: isJson = false }) => choose({ action: 'create', place, isJson }))
  example(create, 'backup create --to /mnt/backups')
  const list = backup
    .command('list')
    .description('The backups of a place, the newest first.')
    .requiredOption('--from <place>', 'where the backups are', filled)
    .option('--json', 'as JSON')
    .action(({ from: place, json: isJson = false }) => choose({ action: 'list', place, isJson }))
  example(list, 'backup list --from /mnt/backups')
  const verify = backup
    .command('verify')
    .description('Reads every byte of all backups, or of one, and names each damaged file.')
    .requiredOption('--from <place>', 'where the backups are', filled)
    .option('--backup <id>', 'only this one', backupId)
    .option('--json', 'as JSON')
    .action(({ from: place, backup: id, json: isJson = false }) => choose({ action: 'verify', place, id, isJson }))
  example(verify, 'backup verify --from /mnt/backups')
  const restore = backup
    .command('restore')
    .description(
      'The newest backup, or the named one, as the data folder of another npm start. It calls no other system.',
    )
    .requiredOption('--from <place>', 'where the backups are', filled)
    .option('--backup <id>', 'this one, not the newest', backupId)
    .requiredOption('--to <dir>', 'the data folder. It is empty or new', filled)
    .option('--erasures <file>', 'what erasures export wrote, so that nobody who was erased comes back')
    .addOption(new Option('--accept-lost-erasures', 'without such a file').conflicts('erasures'))
    .option('--json', 'as JSON')
    .action(
      ({
        from: place,
        backup: id,
        to: folder,
        erasures,
        acceptLostErasures: acceptsLostErasures = false,
        json: isJson = false,
      }) => choose({ action: 'restore', place, id, folder, acceptsLostErasures, erasures, isJson }),
    )
  example(restore, 'backup restore --from /mnt/backups --to restored --erasures erasures.jsonl')
  const prune = backup
    .command('prune')
    .description('Removes all backups but the newest verified ones.')
    .requiredOption('--from <place>', 'where the backups are', filled)
    .requiredOption('--keep <n>', 'how many to keep', numberFrom(1, 999_999))
    .action(({ from: place, keep }) => choose({ action: 'prune', place, keep }))
  example(prune, 'backup prune --from /mnt/backups --keep 14')
  const release = backup
    .command('release')
    .description('Lets a restored platform call other systems again.')
    .action(() => choose({ action: 'release' }))
  example(release, 'backup release')
}
