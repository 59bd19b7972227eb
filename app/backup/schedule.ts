import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createTask, validate } from 'node-cron'
import type { EventStore } from '../../engine/store/event-store.ts'
import { readBackupKeys } from '../../platform/backup/backup-keys.ts'
import { ownerOf } from '../../platform/backup/manifests.ts'
import type { Configuration, Environment } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import type { HealthCheck } from '../../platform/observability/health.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { openPlace, type PlaceSettings } from './open-place.ts'
import { backupStream } from '../../streams/backups/aggregate.ts'

type BackupSettings = PlaceSettings &
  Pick<
    Configuration,
    | 'backupSchedule'
    | 'backupTo'
    | 'backupKeys'
    | 'backupMaxAgeHours'
    | 'dataDir'
    | 'esdbUrl'
    | 'eventstoreBackupCommand'
  >

const main = fileURLToPath(new URL('../main.ts', import.meta.url))

/**
 * @param first the configuration of the environment alone: the embedded event store is not in it
 * @throws ConfigurationError
 */
export function requireBackupSettings(settings: BackupSettings): void {
  const { backupSchedule, backupTo, backupKeys, esdbUrl, eventstoreBackupCommand } = settings
  if (backupSchedule === undefined) return
  if (esdbUrl !== undefined && eventstoreBackupCommand === undefined)
    throw new ConfigurationError('BACKUP_SCHEDULE with ESDB_URL needs EVENTSTORE_BACKUP_COMMAND')
  if (!validate(backupSchedule)) throw new ConfigurationError('BACKUP_SCHEDULE must be a cron expression')
  if (backupTo === undefined) throw new ConfigurationError('BACKUP_TO must be set with BACKUP_SCHEDULE')
  readBackupKeys(backupKeys)
  openPlace(backupTo, settings).close()
}

interface ScheduleOptions {
  readonly settings: BackupSettings
  readonly env: Environment
  readonly store: Pick<EventStore, 'load'>
  readonly logger: Logger
}

/**
 * Runs `backup create` by the schedule, each in a process of its own: hashing and encrypting would hold up requests. One
 * process has the data folder, so one makes its backups. A backup that becomes due during another one is left out. A
 * restored platform whose calls are held makes none: its backups would count as those of the original. Nor is one made
 * in a place without backups if there were some before: the disk is not mounted, and its empty folder is on another one.
 */
export function startScheduledBackups({ settings, env, store, logger }: ScheduleOptions): { close(): Promise<void> } {
  const { backupSchedule = '', backupTo = '', dataDir } = settings
  let running: Promise<void> | undefined
  let child: ChildProcess | undefined
  let isClosing = false
  const task = createTask(backupSchedule, () => (running ??= backUp().finally(() => (running = undefined))), {
    name: 'backups',
    timezone: 'Etc/UTC',
    suppressMissedWarning: true,
  })
  void task.start()

  async function backUp(): Promise<void> {
    try {
      const { held, newestAt } = (await store.load(backupStream)).state
      if (held !== null || isClosing) return
      const isLost = newestAt !== null && (await isNewPlace())
      const { code, reason } = isLost ? { code: null, reason: unknownPlace } : await create()
      if (code === 0) logger.info({ component: 'backups' }, 'a backup was created and verified')
      else if (!isClosing) logger.error({ component: 'backups', reason }, 'a backup was not created')
    } catch (error) {
      logger.error({ component: 'backups', err: error }, 'a backup was not created')
    }
  }

  async function isNewPlace(): Promise<boolean> {
    const place = openPlace(backupTo, settings)
    try {
      return (await ownerOf(place, readBackupKeys(settings.backupKeys))) === undefined
    } finally {
      place.close()
    }
  }

  function create(): Promise<{ readonly code: number | null; readonly reason: string }> {
    return new Promise((resolve, reject) => {
      const begun = spawn(process.execPath, [main, 'backup', 'create', '--to', backupTo], {
        env: { ...env, PLATFORM_DATA_DIR: dataDir },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      child = begun
      let output = ''
      const take = (bytes: Buffer) => void (output = `${output}${bytes.toString()}`.slice(-mostOutput))
      begun.stdout.on('data', take)
      begun.stderr.on('data', take)
      begun.once('error', reject)
      begun.once('close', (code) => resolve({ code, reason: output.trim() }))
    })
  }

  return {
    async close() {
      isClosing = true
      await task.destroy()
      child?.kill('SIGTERM')
      await running
    },
  }
}

const unknownPlace =
  'BACKUP_TO has no backup of this platform: is its disk mounted? Into another place run "platform backup create" once'
/** A log line has no longer text. */
const mostOutput = 512
/** A backup a day, and two hours for it. */
const scheduledMaxAgeHours = 26
const hourMs = 3_600_000

/** Undefined if nobody asked for it. */
export function backupAgeCheck(
  { backupSchedule, backupMaxAgeHours }: Pick<BackupSettings, 'backupSchedule' | 'backupMaxAgeHours'>,
  store: Pick<EventStore, 'load'>,
  now: () => Date,
): HealthCheck | undefined {
  const hours = backupMaxAgeHours ?? (backupSchedule === undefined ? undefined : scheduledMaxAgeHours)
  if (hours === undefined) return undefined
  return {
    name: 'backups',
    gatesReadiness: false,
    run: async () => {
      const { newestAt } = (await store.load(backupStream)).state
      if (newestAt === null) return { status: 'warning', detail: 'there is no verified backup' }
      const ageMs = now().getTime() - Date.parse(newestAt)
      // One of the future says nothing: a clock was ahead.
      if (ageMs <= hours * hourMs && ageMs >= -hourMs) return { status: 'ok' }
      return { status: 'warning', detail: `the newest verified backup is of ${newestAt}` }
    },
  }
}
