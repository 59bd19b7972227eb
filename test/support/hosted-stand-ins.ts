import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServerHost } from 'embedded-eventstore/testing/server-host'
import { freePort } from '../../embedded/children/free-port.ts'
import { objectStore, type ObjectStoreOptions } from '../../embedded/object-store/start-object-store.ts'
import { provider, type ProviderOptions } from '../../embedded/provider/start-provider.ts'
import { receivers, type ReceiversOptions } from '../../embedded/receivers/start-receivers.ts'
import type { StandIn } from '../../embedded/stand-ins/start-stand-ins.ts'
import type { HostedCommand } from './stand-in-host.ts'

/*
 * Stand-ins that no test kills. All of them run in one child process, because the start of a process takes more processor
 * time than most test files cause in their stand-ins.
 */

const host = new ServerHost<HostedCommand>(new URL('stand-in-host.ts', import.meta.url))

export type Hosted<Addresses> = Addresses & {
  readonly port: number
  /** Folder of its data. */
  readonly dataDir: string
  /** Ends it and removes its data. */
  stop(): Promise<void>
}

async function hosted<Addresses>(standInOn: (dataDir: string) => StandIn<Addresses>): Promise<Hosted<Addresses>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'stand-in-'))
  const { command, env, at } = standInOn(dataDir)
  const { port, stop } = await host.open({ command, env })
  return {
    ...at(port),
    port,
    dataDir,
    stop: async () => {
      await stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

type HostDecides = 'dataDir' | 'port' | 'smtpPort' | 'onLog'

export function hostedObjectStore(options: Omit<ObjectStoreOptions, HostDecides>) {
  return hosted((dataDir) => objectStore({ ...options, dataDir, port: 0 }))
}

export function hostedProvider(options: Omit<ProviderOptions, HostDecides>) {
  return hosted((dataDir) => provider({ ...options, dataDir, port: 0 }))
}

export async function hostedReceivers(options: Omit<ReceiversOptions, HostDecides>) {
  const smtpPort = await freePort()
  return hosted((dataDir) => receivers({ ...options, dataDir, port: 0, smtpPort }))
}
