import { loadConfiguration, type Configuration, type Environment } from '../platform/configuration/configuration.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { startPlatform, type Platform } from './assemble.ts'
import { requireBackupSettings } from './backup/schedule.ts'
import { registerServiceClient } from './client-registration.ts'
import { warnOfUnusedConsumers } from './embedded-event-store.ts'
import { openMasterKeys } from './master-keys.ts'
import { needsOf, requireVariables, type Role } from './roles.ts'
import { databaseGone } from './up.ts'

export interface ServeOptions {
  readonly env: Environment
  readonly roles: readonly Role[]
  readonly logger: Logger
  readonly stop: GracefulStop
  /** Called once if this process cannot continue. The caller stops and exits with 1. */
  readonly onFatal: (reason: string) => void
}

export interface ServingPlatform extends Platform {
  readonly configuration: Configuration
}

/**
 * Runs the named roles against the servers of the environment, without a data folder. All durable data is on those
 * servers, so any number of processes per role can run at once. Resolves when this process is ready. Rejects with a
 * message for the operator; nothing keeps running then.
 */
export async function serve(options: ServeOptions): Promise<ServingPlatform> {
  const { env, roles, stop } = options
  requireVariables(env, needsOf(roles, env), `serve ${roles.map((role) => `--role ${role}`).join(' ')}`)
  const configuration = loadConfiguration(env)
  requireBackupSettings(configuration)
  try {
    return await start(configuration, options)
  } catch (error) {
    await stop.stop({ reason: 'start failed', code: 1 })
    throw error
  }
}

async function start(
  configuration: Configuration,
  { roles, logger, stop, onFatal }: ServeOptions,
): Promise<ServingPlatform> {
  for (const warning of configuration.warnings)
    logger.warn({ component: 'configuration', reason: warning }, 'configuration warning')
  warnOfUnusedConsumers(configuration, logger)
  const platform = await startPlatform({
    configuration,
    masterKeys: await openMasterKeys(configuration),
    logger,
    roles,
    stop,
    onDatabaseGone: () => onFatal(databaseGone),
    ...(roles.includes('api')
      ? { beforeListening: ({ store, vault }) => registerServiceClient(store, vault, configuration, new Date()) }
      : {}),
  })
  await platform.caughtUp()
  return { ...platform, configuration }
}
