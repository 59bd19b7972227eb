import { loadConfiguration } from './configuration.ts'
import { createGracefulStop } from './graceful-stop.ts'
import { createLogger } from './logging.ts'
import { up } from './main/up.ts'
import { ConfigurationError } from './profile-rules.ts'

const usage = `Usage: npm run platform -- up

  up    the whole platform on this machine, embedded servers included (the same as npm start)

The environment configures it; the README lists every variable.`

async function main(command: string | undefined): Promise<void> {
  if (command === 'up') return runUp()
  const isHelp = command === 'help' || command === '--help' || command === undefined
  ;(isHelp ? process.stdout : process.stderr).write(`${usage}\n`)
  process.exitCode = isHelp ? 0 : 2
}

async function runUp(): Promise<void> {
  try {
    await start(loadConfiguration(process.env).logLevel)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`platform: ${error instanceof ConfigurationError ? 'configuration: ' : ''}${message}\n`)
    process.exit(1)
  }
}

async function start(level: string): Promise<void> {
  const logger = createLogger({ level })
  const stop = createGracefulStop({ logger })
  stop.listen()
  const onFatal = (reason: string) => {
    process.stderr.write(`platform: ${reason}\n`)
    void stop.stop({ reason: 'fatal', code: 1 }).then((code) => process.exit(code))
  }
  // Node.js would print the error itself, with a message and members that may hold values of a request.
  process.on('uncaughtException', (err) => {
    logger.error({ component: 'platform', err }, 'unexpected error')
    onFatal('an unexpected error, which the log names; start again')
  })
  try {
    const { configuration, credentials } = await up({ env: process.env, onFatal, logger, stop })
    process.stdout.write(`${addresses(configuration.dataDir, configuration.profile, credentials)}\n`)
  } catch (error) {
    if (!(stop.isStopping && error instanceof Error && error.name === 'AbortError')) throw error
  }
}

function addresses(dataDir: string, profile: string, { base_url, provider_url }: { base_url: string; provider_url: string | null }): string {
  const lines = [
    `The platform is ready (profile ${profile}).`,
    `  API            ${base_url}`,
    `  documentation  ${base_url}/docs`,
    `  health         ${base_url}/health`,
    `  provider       ${provider_url ?? 'none'}`,
    `  credentials    ${dataDir}/credentials.json`,
  ]
  return lines.join('\n')
}

await main(process.argv[2])
