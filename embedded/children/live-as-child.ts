import { exitWhenParentGone, tolerateClosedOutput } from './parent-watch.ts'

export type RunningServer = {
  /** Members of the ready line; `port` is the one the server listens on. */
  ready: { port: number } & Readonly<Record<string, string | number | boolean>>
  /** Ends the work in hand and releases everything; called once, whatever the reason for stopping. */
  stop: () => Promise<void>
}

/** As long as a parent waits before it kills: a stop that hangs must not outlive the interest in it. */
const STOP_LIMIT_MS = 8_000

/**
 * The life of an embedded server's process: starts the server, prints the ready line as the first line of stdout, stops it
 * on SIGTERM, SIGINT or (with `exitWithParent`) the parent's end, and exits 0. A failed start prints its reason to stderr
 * and exits 1. A stop that is asked for during the start waits for the start, so that nothing is left half running.
 */
export async function liveAsChild(options: {
  exitWithParent: boolean
  start: () => Promise<RunningServer>
}): Promise<void> {
  tolerateClosedOutput()
  const stopAsked = new Promise<void>((resolve) => {
    process.on('SIGTERM', resolve)
    process.on('SIGINT', resolve)
    if (options.exitWithParent) exitWhenParentGone(resolve)
  })
  try {
    const server = await options.start()
    process.stdout.write(`${JSON.stringify({ ready: true, ...server.ready })}\n`)
    await stopAsked
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref()
    await server.stop()
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`, () => process.exit(1))
  }
}
