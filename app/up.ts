import { mkdir } from 'node:fs/promises'
import { lockDataFolder } from '../embedded/children/data-folder-lock.ts'
import { loadConfiguration, type Configuration, type Environment } from '../platform/configuration/configuration.ts'
import { createGracefulStop, type GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import { createLogger, type Logger } from '../platform/observability/logging.ts'
import { startPlatform, type Platform } from './assemble.ts'
import { requireWholeFolder } from './backup/restore-folder.ts'
import { requireBackupSettings, startScheduledBackups } from './backup/schedule.ts'
import { keepAdministrators, keepCredentials, registerClients, serviceClientOf } from './credentials.ts'
import type { Credentials } from './credentials-file.ts'
import { startEmbedded } from './embedded.ts'
import { openMasterKeys } from './master-keys.ts'
import { allRoles, needsOfUp, requireVariables } from './roles.ts'
import { keepServers } from './servers-file.ts'

export interface UpOptions {
  readonly env: Environment
  /** Called once if the platform cannot continue. The caller stops and exits with 1. */
  readonly onFatal: (reason: string) => void
  readonly logger?: Logger
  readonly stop?: GracefulStop
  readonly now?: () => Date
}

export interface RunningPlatform extends Platform {
  readonly configuration: Configuration
  readonly credentials: Credentials
}

/**
 * Runs the whole platform on one machine: all roles in this process, and an embedded server for everything that the
 * environment does not name. Resolves when it is ready. Rejects with a message for the operator; nothing keeps running
 * then.
 */
export async function up(options: UpOptions): Promise<RunningPlatform> {
  const first = loadConfiguration(options.env)
  requireVariables(options.env, needsOfUp(options.env), 'up')
  requireBackupSettings(first)
  const logger = options.logger ?? createLogger({ level: first.logLevel })
  const stop = options.stop ?? createGracefulStop({ logger })
  try {
    return await start(first, { ...options, logger, stop })
  } catch (error) {
    await stop.stop({ reason: 'start failed', code: 1 })
    throw error
  }
}

type StartOptions = UpOptions & { readonly logger: Logger; readonly stop: GracefulStop }

async function start(
  first: Configuration,
  { env, logger, stop, onFatal, now }: StartOptions,
): Promise<RunningPlatform> {
  await mkdir(first.dataDir, { recursive: true, mode: 0o700 })
  const lock = await lockDataFolder(first.dataDir)
  stop.onStop('servers', 'data folder', () => lock.release())
  await requireWholeFolder(first.dataDir)
  const onLost = (name: string) => onFatal(`the embedded ${name} ended unexpectedly`)
  const { environment, standIns } = await startEmbedded(first, { logger, stop, onLost })
  const masterKeys = await openMasterKeys(first, true)

  const settings = { ...environment, ...withoutEmpty(env), PORT: environment['PORT'] }
  const credentials = await keepCredentials(loadConfiguration(settings), standIns)
  const service = serviceClientOf(credentials)
  const configuration = loadConfiguration({
    // One process at a time uses a data folder, and each folder has a client of its own.
    INSTANCE_ID: service.client_id,
    SERVICE_CLIENT_ID: service.client_id,
    SERVICE_CLIENT_SECRET: service.client_secret,
    CONSOLE_PASSWORD: credentials.console?.password,
    ...settings,
  })
  for (const warning of configuration.warnings)
    logger.warn({ component: 'configuration', reason: warning }, 'configuration warning')
  const servers = await keepServers(configuration)
  stop.onStop('resources', 'servers file', () => servers.forget())

  const platform = await startPlatform({
    configuration,
    masterKeys,
    logger,
    roles: allRoles,
    stop,
    ...(now === undefined ? {} : { now }),
    onDatabaseGone: () => onFatal(databaseGone),
  })
  const { store, vault, identityProvider } = platform
  const clock = now ?? (() => new Date())
  await registerClients(store, vault, credentials, clock())
  const withAdministrators =
    identityProvider === undefined
      ? credentials
      : await keepAdministrators({ store, vault, configuration, now: clock, identityProvider }, credentials, logger)
  if (first.backupSchedule !== undefined) {
    const backups = startScheduledBackups({ settings: first, env, store, logger })
    stop.onStop('reactions', 'backups', () => backups.close())
  }
  await platform.caughtUp()
  return { ...platform, configuration, credentials: withAdministrators }
}

export const databaseGone = 'the database of the read models does not exist any more; start again to rebuild it'

/** An empty variable counts as unset. */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''))
}
