import { fileURLToPath } from 'node:url'
import { startChild, type ChildServer } from 'embedded-eventstore/child-server'

/** A small server that can share a process with others. */
export type StandIn<Addresses> = {
  /** Names it in errors. */
  name: string
  /** Its name in the process, then its arguments. They contain no secret: every user of the machine can see them. */
  command: readonly ['object-store' | 'provider' | 'receivers', ...string[]]
  env: Readonly<Record<string, string>>
  /** 0: a free one. */
  port: number
  /** Its addresses, if it listens on this port. */
  at: (port: number) => Addresses
}

type Logged = { onLog?: (line: string) => void }

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

/** Starts one of them in a process of its own. Throws with its last log lines when it does not start. */
export async function startStandIn<Addresses>(
  standIn: StandIn<Addresses>,
  logged: Logged,
): Promise<ChildServer & Addresses> {
  const child = await startStandIns([standIn], logged)
  return { ...standIn.at(child.port), ...child }
}

/** Starts several in one process, because Node.js itself costs more than they do. `port` is that of the first. */
export async function startStandIns(standIns: readonly StandIn<unknown>[], { onLog }: Logged): Promise<ChildServer> {
  return startChild({
    name: `embedded ${namesOf(standIns)}`,
    script: MAIN,
    args: standIns.flatMap(({ command }, index) => (index === 0 ? command : ['--', ...command])),
    env: Object.assign({}, ...standIns.map(({ env }) => env)),
    ...(onLog === undefined ? {} : { onLog }),
  })
}

export function namesOf(standIns: readonly StandIn<unknown>[]): string {
  return standIns.map(({ name }) => name).join(', ')
}
