import type { ChildServer } from 'embedded-eventstore/child-server'
import { startStandIn, type StandIn } from '../stand-ins/start-stand-ins.ts'

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

type Addresses = {
  /** Base address: the session API is below `/api5`, the remote control below `/control`. */
  url: string
}

export type EmbeddedProvider = ChildServer & Addresses

/** The simulator of the inference provider. */
export function provider(options: ProviderOptions): StandIn<Addresses> {
  return {
    name: 'provider simulator',
    command: [
      'provider',
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
    port: options.port,
    at: (port) => ({ url: `http://127.0.0.1:${port}` }),
  }
}

/** Starts it in its own process. Throws with its last log lines when it does not start. */
export async function startProvider(options: ProviderOptions): Promise<EmbeddedProvider> {
  return startStandIn(provider(options), options)
}
