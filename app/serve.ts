import { loadConfiguration, type Configuration, type Environment } from '../platform/configuration/configuration.ts'
import type { GracefulStop } from '../platform/lifecycle/graceful-stop.ts'
import type { Logger } from '../platform/observability/logging.ts'
import { parseMasterKeys } from '../platform/vault/master-keys.ts'
import { startPlatform, type Platform } from './assemble.ts'
import { registerServiceClient } from './client-registration.ts'
import { needsOf, requireVariables, type Role } from './roles.ts'
import { databaseGone } from './up.ts'

export interface ServeOptions {
  readonly env: Environment
  readonly roles: readonly Role[]
  readonly logger: Logger
  readonly stop: GracefulStop
  /** Told once, when this process cannot go on by itself; the caller stops and exits with 1. */
  readonly onFatal: (reason: string) => void
}

export interface ServingPlatform extends Platform {
  readonly configuration: Configuration
}

/**
 * The named roles against the servers of the environment, with no data folder: everything that lasts lies on those
 * servers, so that any number of processes of a role can run at once. Resolves when this one is ready; rejects with a
 * message for the operator, and leaves nothing running then.
 */
export async function serve(options: ServeOptions): Promise<ServingPlatform> {
  const { env, roles, stop } = options
  requireVariables(env, needsOf(roles), `serve ${roles.map((role) => `--role ${role}`).join(' ')}`)
  const configuration = loadConfiguration(env)
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
  const platform = await startPlatform({
    configuration,
    masterKeys: parseMasterKeys(configuration.masterKeys ?? ''),
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
