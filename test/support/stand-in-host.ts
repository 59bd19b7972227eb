import { hostServers } from 'embedded-eventstore/testing/server-host'
import type { StandIn } from '../../embedded/stand-ins/start-stand-ins.ts'
import { serveStandIn } from '../../embedded/stand-ins/serve.ts'

/* The child process of hosted stand-ins. */

export type HostedCommand = Pick<StandIn<unknown>, 'command' | 'env'>

hostServers(({ command, env }: HostedCommand) => serveStandIn(command, env))
