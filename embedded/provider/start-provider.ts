import { fileURLToPath } from 'node:url'
import { startChild, type ChildServer } from 'embedded-eventstore/child-server'

export type ProviderOptions = {
  dataDir: string
  /** A port of 127.0.0.1. 0 takes a free one. */
  port: number
  login: string
  password: string
  /** The header `X-Control-Secret` of every request to the remote control. */
  controlSecret: string
  /** Lifetime of a session. The default is 3600 s. */
  sessionTtlSeconds?: number
  onLog?: (line: string) => void
}

export type EmbeddedProvider = ChildServer & {
  /** Base address: the session API is below `/api5`, the remote control below `/control`. */
  url: string
}

const SERVER = fileURLToPath(new URL('./main.ts', import.meta.url))

/**
 * Starts the simulator of the inference provider in its own process. Throws with its last log lines when it does not
 * start.
 */
export async function startProvider(options: ProviderOptions): Promise<EmbeddedProvider> {
  const child = await startChild({
    name: 'provider simulator',
    script: SERVER,
    args: [
      '--data',
      options.dataDir,
      '--port',
      String(options.port),
      ...(options.sessionTtlSeconds === undefined ? [] : ['--session-ttl-seconds', String(options.sessionTtlSeconds)]),
    ],
    env: {
      PROVIDER_LOGIN: options.login,
      PROVIDER_PASSWORD: options.password,
      PROVIDER_CONTROL_SECRET: options.controlSecret,
    },
    ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
  })
  return { url: `http://127.0.0.1:${child.port}`, ...child }
}
